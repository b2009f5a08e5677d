package dev.freshet.example;

import com.google.protobuf.ByteString;
import com.google.protobuf.Duration;
import com.google.protobuf.Timestamp;
import dev.freshet.v1.Assignment;
import dev.freshet.v1.CrawlOutcome;
import dev.freshet.v1.CrawlResult;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Fetches pages, at times that the server decides. Thread-safe. */
final class Fetcher {
  static final int MOST_REDIRECTS = 5;
  private static final int MOST_BYTES = 10 << 20;
  private static final int MOST_ETAG = 512;
  private static final int MOST_URL = 8192;
  private static final long TIMEOUT_SECONDS = 60;
  private static final Instant WEB_BEGAN = Instant.parse("1990-01-01T00:00:00Z");
  private static final DateTimeFormatter HTTP_DATE =
      DateTimeFormatter.ofPattern("EEE, dd MMM yyyy HH:mm:ss 'GMT'", Locale.ENGLISH).withZone(ZoneOffset.UTC);

  private final String agent;
  private final HttpClient client = HttpClient.newBuilder()
      .version(HttpClient.Version.HTTP_1_1)
      .followRedirects(HttpClient.Redirect.NEVER)
      .connectTimeout(java.time.Duration.ofSeconds(10))
      .build();
  private final Robots robots;

  Fetcher(String agent) {
    this.agent = agent;
    robots = new Robots(agent, this::get);
  }

  /** Fetches a page and returns the worker's report, whatever the site does. */
  CrawlResult result(Assignment page) {
    CrawlResult.Builder result = CrawlResult.newBuilder()
        .setUrl(page.getUrl())
        .setCrawlId(page.getCrawlId())
        .setLeaseId(page.getLeaseId())
        .setOutcome(CrawlOutcome.CRAWL_OUTCOME_ERROR);
    try {
      fetch(page, result);
    } catch (IOException | RuntimeException e) {
      // The result stays an error.
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return result.build();
  }

  private void fetch(Assignment page, CrawlResult.Builder result) throws IOException, InterruptedException {
    URI target = URI.create(page.getUrl());
    refuseLong(target);
    // Limits the whole page, with its robots.txt: a site may redirect each time.
    Instant end = Instant.now().plusSeconds(TIMEOUT_SECONDS);
    Optional<Robots.Said> rules = robots.of(target, true, end);
    if (rules.isEmpty()) return;
    result.setCrawlDelay(Robots.crawlDelay(rules.get()));
    if (!rules.get().isAllowed(page.getUrl())) {
      result.setOutcome(CrawlOutcome.CRAWL_OUTCOME_ROBOTS_DENIED);
      return;
    }
    HttpResponse<byte[]> answer = get(conditional(page, target), MOST_BYTES, end);
    // A permanent redirect is a result; temporary ones are followed, under the robots.txt of their targets.
    for (int i = 0; i < MOST_REDIRECTS && leadsOn(answer, i == 0); i++) {
      target = location(answer).orElseThrow();
      refuseLong(target);
      rules = robots.of(target, false, end);
      if (rules.isEmpty() || !rules.get().isAllowed(target.toString())) break;
      answer = get(conditional(page, target), MOST_BYTES, end);
    }
    describe(answer, result);
  }

  /** Refuses long URLs, with which every rule of a robots.txt would be compared. */
  private static void refuseLong(URI target) throws IOException {
    if (target.toString().length() > MOST_URL) throw new IOException("the URL is too long");
  }

  private static boolean leadsOn(HttpResponse<?> answer, boolean first) {
    return switch (answer.statusCode()) {
      case 302, 303, 307 -> location(answer).isPresent();
      case 301, 308 -> !first && location(answer).isPresent();
      default -> false;
    };
  }

  static Optional<URI> location(HttpResponse<?> answer) {
    return answer.headers().firstValue("Location").map(answer.uri()::resolve);
  }

  private static HttpRequest.Builder conditional(Assignment page, URI target) {
    HttpRequest.Builder request = HttpRequest.newBuilder(target);
    if (!page.getEtag().isEmpty()) request.header("If-None-Match", page.getEtag());
    if (page.hasLastModified()) {
      Instant modified = Instant.ofEpochSecond(page.getLastModified().getSeconds());
      request.header("If-Modified-Since", HTTP_DATE.format(modified));
    }
    return request;
  }

  /** Returns the answer to one request, until `end`, with the first `most` bytes of its body. */
  private HttpResponse<byte[]> get(HttpRequest.Builder request, int most, Instant end)
      throws IOException, InterruptedException {
    CompletableFuture<HttpResponse<byte[]>> answer =
        client.sendAsync(request.header("User-Agent", agent).build(), info -> new LimitedBody(most));
    try {
      return answer.get(millisUntil(end), TimeUnit.MILLISECONDS);
    } catch (ExecutionException | TimeoutException e) {
      answer.cancel(true);
      throw new IOException(e);
    }
  }

  static long millisUntil(Instant end) {
    return Math.max(0, java.time.Duration.between(Instant.now(), end).toMillis());
  }

  /** Fills in what an answer means to the server. */
  private static void describe(HttpResponse<byte[]> answer, CrawlResult.Builder result) {
    int code = answer.statusCode();
    result.setHttpStatus(code);
    // The server leaves out longer values, and a site must not fill the messages to the server.
    answer.headers().firstValue("ETag").filter(tag -> tag.length() <= MOST_ETAG).ifPresent(result::setEtag);
    answer.headers().firstValue("Retry-After").flatMap(Fetcher::retryAfter).ifPresent(result::setRetryAfter);
    // After a date in 1970 or 2099 the site would answer for ever that nothing has changed.
    answer.headers().firstValue("Last-Modified").flatMap(Fetcher::httpDate)
        .filter(time -> !time.isBefore(WEB_BEGAN) && !time.isAfter(Instant.now()))
        .ifPresent(time -> result.setLastModified(Timestamp.newBuilder().setSeconds(time.getEpochSecond())));
    if (code >= 200 && code < 300) {
      result.setOutcome(CrawlOutcome.CRAWL_OUTCOME_CHANGED).setContentDigest(digest(answer.body()));
    } else if (code == 304) {
      result.setOutcome(CrawlOutcome.CRAWL_OUTCOME_UNCHANGED);
    } else if (code == 301 || code == 308) {
      result.setOutcome(CrawlOutcome.CRAWL_OUTCOME_MOVED);
      try {
        location(answer).map(Object::toString).filter(to -> to.length() <= MOST_URL).ifPresent(result::setMovedTo);
      } catch (IllegalArgumentException e) {
        // The page has moved, but its new address is unknown.
      }
    } else if (code == 404 || code == 410) {
      result.setOutcome(CrawlOutcome.CRAWL_OUTCOME_GONE);
    }
  }

  /** The server compares digests of pages. The digest of only the part that matters is better. */
  private static ByteString digest(byte[] body) {
    try {
      return ByteString.copyFrom(MessageDigest.getInstance("SHA-256").digest(body));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }

  private static Optional<Duration> retryAfter(String text) {
    if (text.matches("[0-9]{1,9}")) return Optional.of(Duration.newBuilder().setSeconds(Long.parseLong(text)).build());
    return httpDate(text)
        .map(time -> time.getEpochSecond() - Instant.now().getEpochSecond())
        .filter(seconds -> seconds > 0)
        .map(seconds -> Duration.newBuilder().setSeconds(seconds).build());
  }

  private static Optional<Instant> httpDate(String text) {
    try {
      return Optional.of(ZonedDateTime.parse(text, DateTimeFormatter.RFC_1123_DATE_TIME).toInstant());
    } catch (DateTimeException e) {
      return Optional.empty();
    }
  }
}
