package dev.freshet.example;

import com.google.protobuf.Duration;
import crawlercommons.robots.BaseRobotRules;
import crawlercommons.robots.SimpleRobotRulesParser;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/** What the robots.txt of each origin says to this agent, by RFC 9309. Thread-safe. */
final class Robots {
  private static final int MOST_BYTES = 500 << 10;
  private static final int MOST_ORIGINS = 10_000;
  private static final long LIFE_SECONDS = 86_400;
  private static final long RETRY_SECONDS = 60;
  private static final long LONGEST_DELAY_MILLIS = 366L * 86_400_000;

  /** How a text is fetched. */
  interface Get {
    HttpResponse<byte[]> get(HttpRequest.Builder request, int mostBytes) throws IOException, InterruptedException;
  }

  /** None: the text cannot be read, and nothing may be fetched for now. */
  private record Rules(Optional<BaseRobotRules> rules, Instant until) {}

  private final String agentName;
  private final Get get;
  // The oldest first.
  private final Map<String, CompletableFuture<Rules>> known = new LinkedHashMap<>();

  Robots(String agent, Get get) {
    // What stands for the agent in a robots.txt: freshet-example of freshet-example/1.0 (+https://example.org/bot).
    agentName = agent.split("[/ ]", 2)[0].toLowerCase(Locale.ROOT);
    this.get = get;
  }

  /** The rules for a target; none where nothing may be fetched for now. Each origin is asked by one thread. */
  Optional<BaseRobotRules> of(URI target) throws IOException, InterruptedException {
    String origin = target.getScheme() + "://" + target.getRawAuthority();
    CompletableFuture<Rules> rules;
    boolean mine = false;
    synchronized (known) {
      rules = known.get(origin);
      if (rules == null || (rules.isDone() && Instant.now().isAfter(rules.join().until()))) {
        known.remove(origin);
        if (known.size() >= MOST_ORIGINS) known.remove(known.keySet().iterator().next());
        rules = new CompletableFuture<>();
        known.put(origin, rules);
        mine = true;
      }
    }
    if (mine) rules.complete(read(origin));
    try {
      return rules.get().rules();
    } catch (ExecutionException e) {
      throw new IOException(e);
    }
  }

  /** Zero: the site asks for none. */
  static Duration crawlDelay(BaseRobotRules rules) {
    long millis = Math.max(0, rules.getCrawlDelay());
    return Duration.newBuilder().setSeconds(millis / 1000).setNanos((int) (millis % 1000) * 1_000_000).build();
  }

  private Rules read(String origin) {
    try {
      URI target = URI.create(origin + "/robots.txt");
      HttpResponse<byte[]> answer = get.get(HttpRequest.newBuilder(target), MOST_BYTES);
      // Redirects lead to other hosts as well: what is found there holds where one has asked first.
      for (int i = 0; i < Fetcher.MOST_REDIRECTS && isRedirect(answer); i++) {
        answer = get.get(HttpRequest.newBuilder(Fetcher.location(answer).orElseThrow()), MOST_BYTES);
      }
      if (answer.statusCode() < 500) {
        // What is not there, or is behind more redirects than are followed, forbids nothing.
        byte[] text = answer.statusCode() / 100 == 2 ? answer.body() : new byte[0];
        BaseRobotRules rules = new SimpleRobotRulesParser(LONGEST_DELAY_MILLIS, 0)
            .parseContent(target.toString(), text, "text/plain", List.of(agentName));
        return new Rules(Optional.of(rules), Instant.now().plusSeconds(LIFE_SECONDS));
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (IOException | RuntimeException e) {
      // It cannot be read.
    }
    return new Rules(Optional.empty(), Instant.now().plusSeconds(RETRY_SECONDS));
  }

  private static boolean isRedirect(HttpResponse<?> answer) {
    return switch (answer.statusCode()) {
      case 301, 302, 307, 308 -> answer.headers().firstValue("Location").isPresent();
      default -> false;
    };
  }
}
