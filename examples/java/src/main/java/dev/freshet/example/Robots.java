package dev.freshet.example;

import com.google.protobuf.Duration;
import crawlercommons.robots.BaseRobotRules;
import crawlercommons.robots.SimpleRobotRulesParser;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** The rules of each origin's robots.txt for this agent, by RFC 9309. Thread-safe. */
final class Robots {
  private static final int MOST_BYTES = 500 << 10;
  // A site may have a long robots.txt for each of any number of names.
  private static final long MOST_MEMORY = 256L << 20;
  private static final long LIFE_SECONDS = 86_400;
  // For an origin to which only redirects lead so far.
  private static final long LIFE_ELSEWHERE_SECONDS = 600;
  private static final long RETRY_SECONDS = 60;
  // Takes a fifth of a second.
  private static final long MOST_STEPS = 100_000_000;
  private static final long LONGEST_DELAY_MILLIS = 366L * 86_400_000;

  /** Fetches a text. */
  interface Get {
    HttpResponse<byte[]> get(HttpRequest.Builder request, int mostBytes, Instant end)
        throws IOException, InterruptedException;
  }

  /** The rules of a text. WildcardBytes: bytes of rules with wildcards, each compared with each byte of a URL. */
  record Said(BaseRobotRules rules, long wildcardBytes) {
    /** Also false if a long URL and many wildcards would take seconds. */
    boolean isAllowed(String url) {
      return url.length() * wildcardBytes <= MOST_STEPS && rules.isAllowed(url);
    }
  }

  /** No rules: the text cannot be read, so nothing may be fetched for now. Size: about the most memory that it takes. */
  private record Rules(Optional<Said> rules, Instant until, long size) {
    boolean isOver() {
      return Instant.now().isAfter(until);
    }
  }

  private final String agentName;
  private final Get get;
  // Texts that were read, and texts under way: at most one for each page being fetched.
  private final Map<String, Rules> known = new HashMap<>();
  private final Map<String, CompletableFuture<Rules>> underWay = new HashMap<>();
  private long memory;  // bytes of `known`

  Robots(String agent, Get get) {
    // The agent's name in a robots.txt: freshet-example of freshet-example/1.0 (+https://example.org/bot).
    agentName = agent.split("[/ ]", 2)[0].toLowerCase(Locale.ROOT);
    this.get = get;
  }

  /** Waits for a target's rules until `end`; none if nothing may be fetched now. One thread asks each origin. */
  Optional<Said> of(URI target, boolean isPage, Instant end) throws IOException, InterruptedException {
    String authority = target.getRawAuthority();
    // Without name and password.
    String host = authority.substring(authority.lastIndexOf('@') + 1);
    String origin = (target.getScheme() + "://" + host).toLowerCase(Locale.ROOT);
    CompletableFuture<Rules> rules;
    boolean mine = false;
    synchronized (known) {
      Rules found = known.get(origin);
      if (found != null && !found.isOver()) return found.rules();
      rules = underWay.get(origin);
      if (rules == null) {
        rules = new CompletableFuture<>();
        underWay.put(origin, rules);
        mine = true;
      }
    }
    if (mine) {
      Rules read = read(origin, isPage ? LIFE_SECONDS : LIFE_ELSEWHERE_SECONDS, end);
      synchronized (known) {
        underWay.remove(origin);
        keep(origin, read);
      }
      rules.complete(read);
    }
    try {
      return rules.get(Fetcher.millisUntil(end), TimeUnit.MILLISECONDS).rules();
    } catch (ExecutionException | TimeoutException e) {
      throw new IOException(e);
    }
  }

  /** Forgets old rules and then the largest, while all take too much memory. */
  private void keep(String origin, Rules rules) {
    forget(origin);
    known.put(origin, rules);
    memory += rules.size();
    if (memory > MOST_MEMORY) {
      known.entrySet().stream().filter(e -> e.getValue().isOver()).map(Map.Entry::getKey).toList().forEach(this::forget);
    }
    while (memory > MOST_MEMORY) {
      forget(Collections.max(known.entrySet(), Map.Entry.comparingByValue(Comparator.comparingLong(Rules::size))).getKey());
    }
  }

  private void forget(String origin) {
    Rules rules = known.remove(origin);
    if (rules != null) memory -= rules.size();
  }

  private static long sizeOf(byte[] text) {
    long wildcards = 0;
    for (byte c : text) if (c == '*' || c == '$') wildcards++;
    return 1024 + 32L * text.length + 900 * wildcards;
  }

  private static long wildcardBytesOf(byte[] text) {
    return new String(text, StandardCharsets.ISO_8859_1).lines()
        .filter(line -> line.indexOf('*') >= 0 || line.indexOf('$') >= 0).mapToLong(String::length).sum();
  }

  /** Returns the Crawl-delay; zero: the site asks for none. */
  static Duration crawlDelay(Said said) {
    long millis = Math.max(0, said.rules().getCrawlDelay());
    return Duration.newBuilder().setSeconds(millis / 1000).setNanos((int) (millis % 1000) * 1_000_000).build();
  }

  private Rules read(String origin, long lifeSeconds, Instant end) {
    try {
      URI target = URI.create(origin + "/robots.txt");
      HttpResponse<byte[]> answer = get.get(HttpRequest.newBuilder(target), MOST_BYTES, end);
      // Follows redirects even to other hosts: the text there applies to the host that was asked first.
      for (int i = 0; i < Fetcher.MOST_REDIRECTS && isRedirect(answer); i++) {
        answer = get.get(HttpRequest.newBuilder(Fetcher.location(answer).orElseThrow()), MOST_BYTES, end);
      }
      if (answer.statusCode() < 500) {
        // A text that is missing, or behind too many redirects, forbids nothing.
        byte[] text = answer.statusCode() / 100 == 2 ? answer.body() : new byte[0];
        BaseRobotRules rules = new SimpleRobotRulesParser(LONGEST_DELAY_MILLIS, 0)
            .parseContent(target.toString(), text, "text/plain", List.of(agentName));
        return new Rules(Optional.of(new Said(rules, wildcardBytesOf(text))), Instant.now().plusSeconds(lifeSeconds), sizeOf(text));
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (IOException | RuntimeException e) {
      // The text cannot be read.
    }
    // If this page has used up its time, another page has more.
    Instant now = Instant.now();
    return new Rules(Optional.empty(), now.isBefore(end) ? now.plusSeconds(RETRY_SECONDS) : now, sizeOf(new byte[0]));
  }

  private static boolean isRedirect(HttpResponse<?> answer) {
    return switch (answer.statusCode()) {
      case 301, 302, 307, 308 -> answer.headers().firstValue("Location").isPresent();
      default -> false;
    };
  }
}
