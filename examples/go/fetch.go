package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/temoto/robotstxt"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "example.org/freshet-worker/freshetv1"
)

const (
	mostBytes       = 10 << 20
	mostRobotsBytes = 500 << 10
	mostRedirects   = 5
	mostEtagBytes   = 512
	mostURLBytes    = 8192
	robotsLife      = 24 * time.Hour
	robotsRetry     = time.Minute
	// The worker keeps robots.txt this long for an origin to which only redirects lead so far.
	robotsLifeElsewhere = 10 * time.Minute
	// A site may have a long robots.txt for each of any number of names.
	mostRobotsMemory = 256 << 20
	mostRobotsSteps  = 20_000_000 // a fifth of a second
	pageTimeout      = time.Minute
)

// errLongURL makes a redirect an error if every rule of a robots.txt would be compared with its long URL.
var errLongURL = errors.New("the URL is too long")

// fetcher fetches pages, at times that the server decides. Goroutine-safe.
type fetcher struct {
	agent  string
	client http.Client
	mu     sync.Mutex
	robots map[string]*rules // by origin
	memory int               // bytes of robots
}

// rules has the robots.txt of an origin; ready is closed once the text is read, group is nil if it cannot be read.
type rules struct {
	ready chan struct{}
	group *robotstxt.Group
	until time.Time
	// Bytes of rules with wildcards: the library compares each of them with each byte of a URL.
	wildcardBytes int
	size          int // about the most memory that it takes; guarded by the fetcher's mutex
}

// allow also returns false if a long URL and many wildcards would take seconds.
func (r *rules) allow(target *url.URL) bool {
	path := pathOf(target)
	return len(path)*r.wildcardBytes <= mostRobotsSteps && r.group.Test(path)
}

func newFetcher(agent string) *fetcher {
	f := &fetcher{agent: agent, robots: make(map[string]*rules)}
	f.client.CheckRedirect = f.follow
	return f
}

// follow follows temporary redirects, under the robots.txt of their targets; a permanent redirect is a result.
func (f *fetcher) follow(request *http.Request, via []*http.Request) error {
	first := len(via) == 1
	moved := request.Response.StatusCode == http.StatusMovedPermanently || request.Response.StatusCode == http.StatusPermanentRedirect
	if (first && moved) || len(via) > mostRedirects {
		return http.ErrUseLastResponse
	}
	if len(request.URL.String()) > mostURLBytes {
		return errLongURL
	}
	if rules := f.rulesOf(request.Context(), request.URL, robotsLifeElsewhere); rules == nil || !rules.allow(request.URL) {
		return http.ErrUseLastResponse
	}
	return nil
}

// result fetches a page and returns the worker's report, whatever the site does.
func (f *fetcher) result(ctx context.Context, page *pb.Assignment) *pb.CrawlResult {
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	result := &pb.CrawlResult{Url: page.Url, CrawlId: page.CrawlId, LeaseId: page.LeaseId}
	result.Outcome = pb.CrawlOutcome_CRAWL_OUTCOME_ERROR
	target, err := url.Parse(page.Url)
	if err != nil || len(page.Url) > mostURLBytes {
		return result
	}
	rules := f.rulesOf(ctx, target, robotsLife)
	if rules == nil {
		return result
	}
	result.CrawlDelay = durationpb.New(rules.group.CrawlDelay)
	if !rules.allow(target) {
		result.Outcome = pb.CrawlOutcome_CRAWL_OUTCOME_ROBOTS_DENIED
		return result
	}
	f.get(ctx, page, result)
	return result
}

func (f *fetcher) get(ctx context.Context, page *pb.Assignment, result *pb.CrawlResult) {
	trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if host, _, err := net.SplitHostPort(info.Conn.RemoteAddr().String()); err == nil && result.ServerAddress == "" {
			result.ServerAddress = host
		}
	}}
	request, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), http.MethodGet, page.Url, nil)
	if err != nil {
		return
	}
	request.Header.Set("User-Agent", f.agent)
	if page.Etag != "" {
		request.Header.Set("If-None-Match", page.Etag)
	}
	if page.LastModified != nil {
		request.Header.Set("If-Modified-Since", page.LastModified.AsTime().UTC().Format(http.TimeFormat))
	}
	answer, err := f.client.Do(request)
	if err != nil {
		return
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, mostBytes))
	if err != nil {
		return
	}
	describe(answer, body, result)
}

// describe fills in what an answer means to the server.
func describe(answer *http.Response, body []byte, result *pb.CrawlResult) {
	result.HttpStatus = proto.Int32(int32(answer.StatusCode))
	// The server leaves out longer values, and a site must not fill the messages to the server.
	if etag := strings.ToValidUTF8(answer.Header.Get("ETag"), "?"); len(etag) <= mostEtagBytes {
		result.Etag = etag
	}
	// After a date in 1970 or 2099 the site would answer for ever that nothing has changed.
	if modified, err := http.ParseTime(answer.Header.Get("Last-Modified")); err == nil && modified.Year() >= 1990 && !modified.After(time.Now()) {
		result.LastModified = timestamppb.New(modified)
	}
	result.RetryAfter = retryAfter(answer.Header.Get("Retry-After"))
	switch code := answer.StatusCode; {
	case code >= 200 && code < 300:
		digest := sha256.Sum256(body)
		result.Outcome, result.ContentDigest = pb.CrawlOutcome_CRAWL_OUTCOME_CHANGED, digest[:]
	case code == http.StatusNotModified:
		result.Outcome = pb.CrawlOutcome_CRAWL_OUTCOME_UNCHANGED
	case code == http.StatusMovedPermanently || code == http.StatusPermanentRedirect:
		result.Outcome = pb.CrawlOutcome_CRAWL_OUTCOME_MOVED
		if location, err := answer.Location(); err == nil && utf8.ValidString(location.String()) && len(location.String()) <= mostURLBytes {
			result.MovedTo = location.String()
		}
	case code == http.StatusNotFound || code == http.StatusGone:
		result.Outcome = pb.CrawlOutcome_CRAWL_OUTCOME_GONE
	}
}

func retryAfter(text string) *durationpb.Duration {
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return durationpb.New(time.Duration(seconds) * time.Second)
	}
	if date, err := http.ParseTime(text); err == nil && time.Until(date) > 0 {
		return durationpb.New(time.Until(date))
	}
	return nil
}

// rulesOf returns the rules of robots.txt for this agent; nil if it cannot be read, so that nothing may be fetched for
// now.
func (f *fetcher) rulesOf(ctx context.Context, target *url.URL, life time.Duration) *rules {
	origin := strings.ToLower(target.Scheme + "://" + target.Host)
	f.mu.Lock()
	r := f.robots[origin]
	if r == nil || r.over() {
		f.forget(origin)
		r = &rules{ready: make(chan struct{})}
		f.robots[origin] = r
		f.resize(origin, r, sizeOf(nil))
		go f.read(r, origin, life)
	}
	f.mu.Unlock()
	select {
	case <-r.ready:
		if r.group == nil {
			return nil
		}
		return r
	case <-ctx.Done():
		return nil
	}
}

// sizeOf returns about the most memory of a text's rules: each wildcard makes a regular expression.
func sizeOf(body []byte) int {
	return 1024 + 32*len(body) + 900*(bytes.Count(body, []byte("*"))+bytes.Count(body, []byte("$")))
}

// resize forgets old rules and then the largest, while all take too much memory. Needs the mutex.
func (f *fetcher) resize(origin string, r *rules, size int) {
	if f.robots[origin] != r {
		return
	}
	f.memory += size - r.size
	r.size = size
	for f.memory > mostRobotsMemory {
		first := ""
		for key, other := range f.robots {
			if other.over() {
				first = key
				break
			}
			if first == "" || other.size > f.robots[first].size {
				first = key
			}
		}
		f.forget(first)
	}
}

// forget removes the rules of an origin. Needs the mutex.
func (f *fetcher) forget(origin string) {
	if r := f.robots[origin]; r != nil {
		f.memory -= r.size
		delete(f.robots, origin)
	}
}

func (r *rules) over() bool {
	select {
	case <-r.ready:
		return time.Now().After(r.until)
	default:
		return false
	}
}

func (f *fetcher) read(r *rules, origin string, life time.Duration) {
	defer close(r.ready)
	r.until = time.Now().Add(robotsRetry)
	client := http.Client{Timeout: pageTimeout, CheckRedirect: followRobots}
	request, err := http.NewRequest(http.MethodGet, origin+"/robots.txt", nil)
	if err != nil {
		return
	}
	request.Header.Set("User-Agent", f.agent)
	answer, err := client.Do(request)
	if err != nil {
		return
	}
	defer answer.Body.Close()
	if answer.StatusCode >= 500 {
		return
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, mostRobotsBytes))
	if err != nil {
		return
	}
	// A robots.txt that is missing, or behind too many redirects, forbids nothing (RFC 9309, section 2.3.1).
	if answer.StatusCode < 200 || answer.StatusCode >= 300 {
		body = nil
	}
	body, r.wildcardBytes = bounded(body)
	r.group, r.until = parse(body).FindGroup(f.agent), time.Now().Add(life)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.resize(origin, r, sizeOf(body))
}

// followRobots follows redirects even to other hosts: the text there applies to the host that was asked first.
func followRobots(_ *http.Request, via []*http.Request) error {
	if len(via) > mostRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

// parse keeps the lines of a robots.txt that the library can read. For one bad line, such as a delay that is not a number
// or a rule without a group, the library would refuse the whole text.
func parse(body []byte) *robotstxt.RobotsData {
	if data, err := robotstxt.FromBytes(body); err == nil {
		return data
	}
	var good strings.Builder
	group := "" // the group in which a line is tried
	for _, line := range strings.FieldsFunc(string(body), func(c rune) bool { return c == '\n' || c == '\r' }) {
		line = strings.TrimPrefix(line, "\ufeff")
		if _, err := robotstxt.FromString(group + line); err != nil {
			continue
		}
		good.WriteString(line + "\n")
		if name := strings.ToLower(strings.TrimSpace(line)); strings.HasPrefix(name, "user-agent") || strings.HasPrefix(name, "useragent") {
			group = "User-agent: *\n"
		}
	}
	data, err := robotstxt.FromString(good.String())
	if err != nil {
		data, _ = robotstxt.FromString("")
	}
	return data
}

func pathOf(target *url.URL) string {
	if target.RawQuery == "" {
		return target.EscapedPath()
	}
	return target.EscapedPath() + "?" + target.RawQuery
}
