package dev.freshet.example;

import dev.freshet.v1.SchedulerServiceGrpc;
import io.grpc.CallCredentials;
import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.TlsChannelCredentials;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A fetch worker in Java: fetches the pages that Freshet hands out, and reports what it found.
 *
 * <p>It obeys robots.txt and reports its Crawl-delay, asks conditionally, and reports permanent redirects instead of
 * following them. It keeps results until the server has acknowledged them, over reconnects. On SIGTERM or Ctrl-C it
 * requests no more pages, finishes those that it has, and ends once all results are acknowledged, after
 * {@code --stop-timeout} seconds at the latest.
 */
public final class Main {
  private static final long SHORTEST_PAUSE = 200;
  private static final long LONGEST_PAUSE = 20_000;

  private Main() {}

  public static void main(String[] arguments) throws Exception {
    Map<String, String> options = new HashMap<>();
    options.put("--server", environment("FRESHET_SERVER", "127.0.0.1:7071"));
    options.put("--name", "java-worker");
    options.put("--capacity", "32");
    options.put("--agent", "freshet-example/1.0");
    options.put("--stop-timeout", "30");
    options.put("--tls-ca", environment("FRESHET_TLS_CA", ""));
    for (int i = 0; i < arguments.length; i += 2) {
      if (!options.containsKey(arguments[i]) || i + 1 == arguments.length) {
        System.err.println("usage: java -jar freshet-worker.jar [--server HOST:PORT,...] [--name NAME] [--capacity N]"
            + " [--agent USER_AGENT] [--stop-timeout SECONDS] [--tls-ca FILE]");
        System.exit(2);
      }
      options.put(arguments[i], arguments[i + 1]);
    }
    Fetcher fetcher = new Fetcher(options.get("--agent"));
    Worker worker = new Worker(options.get("--name"), Integer.parseInt(options.get("--capacity")), fetcher);
    long stopMillis = Math.max(1, 1_000 * Long.parseLong(options.get("--stop-timeout")));
    AtomicInteger code = new AtomicInteger(1);
    Thread main = Thread.currentThread();
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      worker.stop();
      try {
        main.join(stopMillis);
        // A server that does not answer delays nobody.
        main.interrupt();
        main.join();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
      // For the JVM a requested stop would be a failure.
      Runtime.getRuntime().halt(code.get());
    }));
    try {
      run(worker, options.get("--server").split(","), options.get("--tls-ca"));
      code.set(0);
    } catch (InterruptedException e) {
      System.err.println(options.get("--name") + ": the stop has taken too long");
    }
    System.out.printf("%s: %d results acknowledged, %d refused, %d not acknowledged%n", options.get("--name"),
        worker.acknowledged(), worker.refused(), worker.owed());
    System.out.flush();
  }

  /** Works with one address after the other until the worker is done. */
  private static void run(Worker worker, String[] addresses, String ca) throws IOException, InterruptedException {
    long pause = 0;
    for (int attempt = 0; !worker.done(); attempt++) {
      Thread.sleep(pause);
      long before = worker.acknowledged();
      Worker.End end = serve(worker, addresses[attempt % addresses.length].trim(), ca);
      if (end.revoked()) {
        pause = 0;
        continue;
      }
      if (!end.status().isOk()) System.err.println(Worker.printable(end.status().toString()));
      if (worker.acknowledged() > before) pause = 0;
      // The pause doubles after each failure, with jitter so that workers do not return all at once.
      pause = Math.min(LONGEST_PAUSE, Math.max(SHORTEST_PAUSE, 2 * pause));
      pause = pause / 2 + ThreadLocalRandom.current().nextLong(pause / 2);
    }
  }

  private static Worker.End serve(Worker worker, String address, String ca) throws IOException, InterruptedException {
    ManagedChannel channel = channelTo(address, ca);
    try {
      SchedulerServiceGrpc.SchedulerServiceStub stub = SchedulerServiceGrpc.newStub(channel);
      String file = environment("FRESHET_TOKEN_FILE", "");
      // A token is sent only over TLS.
      if (!ca.isEmpty() && !file.isEmpty()) stub = stub.withCallCredentials(new Bearer(Files.readString(Path.of(file))));
      return worker.converse(stub);
    } finally {
      channel.shutdown();
      if (!channel.awaitTermination(5, TimeUnit.SECONDS)) channel.shutdownNow();
    }
  }

  private static ManagedChannel channelTo(String address, String ca) throws IOException {
    ChannelCredentials credentials = ca.isEmpty()
        ? InsecureChannelCredentials.create()
        : TlsChannelCredentials.newBuilder().trustManager(new File(ca)).build();
    ManagedChannelBuilder<?> builder = Grpc.newChannelBuilder(address, credentials)
        .keepAliveTime(10, TimeUnit.SECONDS)
        .keepAliveTimeout(5, TimeUnit.SECONDS);
    // No web proxy may read plain text.
    if (ca.isEmpty()) builder.proxyDetector(target -> null);
    return builder.build();
  }

  private static String environment(String name, String fallback) {
    String value = System.getenv(name);
    return value == null || value.isEmpty() ? fallback : value;
  }

  /** Sends a token with each call. */
  private static final class Bearer extends CallCredentials {
    private static final Metadata.Key<String> KEY = Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
    private final String token;

    Bearer(String token) {
      this.token = token.strip();
    }

    @Override
    public void applyRequestMetadata(RequestInfo info, Executor executor, MetadataApplier applier) {
      Metadata headers = new Metadata();
      headers.put(KEY, "Bearer " + token);
      try {
        applier.apply(headers);
      } catch (RuntimeException e) {
        applier.fail(Status.UNAUTHENTICATED.withCause(e));
      }
    }
  }
}
