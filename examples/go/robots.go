package main

import (
	"regexp"
	"strings"
)

const (
	// Each wildcard of an agent is compared with each URL.
	mostWildcards = 1000
	// The library stores a rule once for each agent of its group: at most this many copies beyond the first.
	mostShared = 50_000
)

// robotsLine matches the lines that the library reads, with common misspellings.
var robotsLine = regexp.MustCompile(`(?i)^[\s\x{feff}]*(user-?agent|allow|disallow|crawl-?delay)\s*:([^#]*)`)

// bounded returns the agents, rules and delays of a robots.txt, and the bytes of its rules with wildcards. It leaves
// out parts that would cost seconds for each URL, or gigabytes: wildcards of an agent after the first thousand, and
// rules of very many agents at once.
func bounded(text []byte) ([]byte, int) {
	var kept strings.Builder
	group := map[string]bool{}
	hasRules := false
	wildcards := map[string]int{} // by agent
	shared := 0
	wildcardBytes := 0
	for _, line := range strings.FieldsFunc(string(text), func(c rune) bool { return c == '\n' || c == '\r' }) {
		match := robotsLine.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		field, value := strings.ToLower(match[1]), strings.TrimSpace(match[2])
		if strings.HasPrefix(field, "user") {
			if hasRules {
				group, hasRules = map[string]bool{}, false
			}
			value = strings.ToLower(value)
			if group[value] {
				continue // the library would store its rules twice
			}
			group[value] = true
		} else {
			others := max(0, len(group)-1)
			if shared+others > mostShared {
				continue
			}
			shared += others
			if strings.ContainsAny(value, "*$") {
				if !count(group, wildcards, max(1, strings.Count(value, "*"))) {
					continue
				}
				wildcardBytes += len(value)
			}
			// Only lines that the library considers rules end a group.
			hasRules = hasRules || (value != "" && field != "crawl-delay" && field != "crawldelay")
		}
		kept.WriteString(field + ": " + value + "\n")
	}
	return []byte(kept.String()), wildcardBytes
}

// count adds wildcards to the agents of a group, unless one of them would have too many.
func count(group map[string]bool, wildcards map[string]int, stars int) bool {
	for agent := range group {
		if wildcards[agent]+stars > mostWildcards {
			return false
		}
	}
	for agent := range group {
		wildcards[agent] += stars
	}
	return true
}
