package dev.freshet.example;

import dev.freshet.v1.Assignment;
import dev.freshet.v1.BatchAck;
import dev.freshet.v1.CrawlRequest;
import dev.freshet.v1.CrawlResponse;
import dev.freshet.v1.CrawlResult;
import dev.freshet.v1.Credit;
import dev.freshet.v1.ItemError;
import dev.freshet.v1.ItemOutcome;
import dev.freshet.v1.ItemStatus;
import dev.freshet.v1.ResultBatch;
import dev.freshet.v1.SchedulerServiceGrpc;
import dev.freshet.v1.WorkerHello;
import io.grpc.Status;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Handles the difficult parts of every client of the Crawl stream: credit, results that are kept until they are
 * acknowledged, streams that end. It outlives streams. Only the thread that calls {@link #converse} may use it, except
 * {@link #stop}; other threads pass work to that thread.
 */
final class Worker {
  /** At most 1,000; each batch gets one acknowledgement. */
  private static final int RESULTS_PER_BATCH = 500;
  /** A stopping worker with credit expects no page after this time without one. */
  private static final long QUIET_MILLIS = 250;
  /** Control characters, marks that change the writing direction, and line separators. */
  private static final Pattern UNPRINTABLE = Pattern.compile("[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]");

  /** Why a stream ended: on purpose, since credit cannot be taken back, or with a status. */
  record End(boolean revoked, Status status) {}

  private record Batch(long sequence, List<CrawlResult> results) {}

  private final String name;
  private final int capacity;
  private final Fetcher fetcher;
  private final ExecutorService fetches;
  private final ScheduledExecutorService clock;
  private final BlockingQueue<Runnable> events = new LinkedBlockingQueue<>();
  private final Deque<Batch> sent = new ArrayDeque<>();  // in the order of their acknowledgements
  private List<CrawlResult> unsent = new ArrayList<>();
  private boolean stopping;
  private int open;  // pages being fetched
  private int credit; // pages that the server may still send on this stream
  private int stream;
  private Status ended;  // why this stream ended; null before
  private long sequence;
  private long acknowledged;
  private long refused;

  Worker(String name, int capacity, Fetcher fetcher) {
    this.name = name;
    this.capacity = capacity;
    this.fetcher = fetcher;
    ThreadFactory daemons = task -> {
      Thread thread = new Thread(task);
      thread.setDaemon(true);
      return thread;
    };
    fetches = Executors.newFixedThreadPool(capacity, daemons);
    clock = Executors.newSingleThreadScheduledExecutor(daemons);
  }

  long acknowledged() {
    return acknowledged;
  }

  long refused() {
    return refused;
  }

  /** Requests no more pages, and finishes those that it has. Any thread may call it. */
  void stop() {
    events.add(() -> stopping = true);
  }

  /** Whether the worker was told to stop and everything is acknowledged. */
  boolean done() {
    for (Runnable event = events.poll(); event != null; event = events.poll()) event.run();
    return stopping && owed() == 0;
  }

  /** How many pages have no acknowledged result, including those being fetched. */
  int owed() {
    return open + unsent.size() + sent.stream().mapToInt(batch -> batch.results().size()).sum();
  }

  /** Works on one stream until it ends, or all is done. */
  End converse(SchedulerServiceGrpc.SchedulerServiceStub stub) throws InterruptedException {
    int number = ++stream;
    ended = null;
    ClientCallStreamObserver<CrawlRequest> requests =
        (ClientCallStreamObserver<CrawlRequest>) stub.crawl(new Responses(number));
    begin(requests);
    while (true) {
      send(requests);
      if (stopping && credit == 0 && owed() == 0) {
        requests.onCompleted();
        return new End(false, Status.OK);
      }
      Runnable event = stopping ? events.poll(QUIET_MILLIS, TimeUnit.MILLISECONDS) : events.take();
      if (event != null) {
        event.run();
      } else if (credit > 0) {
        // Pages on their way when a stream ends are lost until their leases end; by now there are hardly any.
        requests.cancel("a worker that stops takes its credit back", null);
        return new End(true, Status.OK);
      }
      if (ended != null) return new End(false, ended);
    }
  }

  /** Says hello, and sends unacknowledged results first. */
  private void begin(StreamObserver<CrawlRequest> requests) {
    List<CrawlResult> again = new ArrayList<>();
    for (Batch batch : sent) again.addAll(batch.results());
    again.addAll(unsent);
    unsent = again;
    sent.clear();
    credit = 0;
    requests.onNext(CrawlRequest.newBuilder().setHello(WorkerHello.newBuilder().setWorker(name)).build());
  }

  /** Reports waiting results, and grants credit for free room. */
  private void send(StreamObserver<CrawlRequest> requests) {
    while (!unsent.isEmpty()) {
      int count = Math.min(unsent.size(), RESULTS_PER_BATCH);
      Batch batch = new Batch(++sequence, List.copyOf(unsent.subList(0, count)));
      unsent.subList(0, count).clear();
      sent.add(batch);
      requests.onNext(CrawlRequest.newBuilder()
          .setResults(ResultBatch.newBuilder().setSequence(batch.sequence()).addAllResults(batch.results()))
          .build());
    }
    int room = capacity - open - credit;
    if (stopping || room <= 0) return;
    credit += room;
    requests.onNext(CrawlRequest.newBuilder().setCredit(Credit.newBuilder().setAssignments(room)).build());
  }

  private void take(CrawlResponse message) {
    switch (message.getMessageCase()) {
      case ASSIGNMENTS -> message.getAssignments().getAssignmentsList().forEach(this::fetch);
      case RESULT_ACK -> settle(message.getResultAck());
      case NOTICE -> System.err.println(printable(name + ": " + message.getNotice().getText()));
      default -> { }  // from a later release
    }
  }

  private void fetch(Assignment page) {
    credit--;
    open++;
    fetches.execute(() -> {
      CrawlResult result = fetcher.result(page);
      events.add(() -> {
        open--;
        unsent.add(result);
      });
    });
  }

  /** Forgets a batch, except items that the server asks to send again later. */
  private void settle(BatchAck ack) {
    if (sent.isEmpty() || sent.peek().sequence() != ack.getSequence()) return;
    List<CrawlResult> results = sent.remove().results();
    if (ack.hasError()) {
      refuse(results, ack.getError());
      return;
    }
    acknowledged += results.size();
    for (ItemStatus status : ack.getStatusesList()) {
      if (status.getOutcome() != ItemOutcome.ITEM_OUTCOME_REFUSED) continue;
      acknowledged--;
      refuse(List.of(results.get(status.getIndex())), status.getError());
    }
  }

  private void refuse(List<CrawlResult> results, ItemError reason) {
    if (!reason.getRetryable()) {
      refused += results.size();
      System.err.println(
          printable(results.size() + " results refused: " + reason.getField() + ": " + reason.getReason()));
      return;
    }
    // They occupy room until they return.
    open += results.size();
    clock.schedule(() -> events.add(() -> {
      open -= results.size();
      unsent.addAll(results);
    }), Math.max(1, reason.getRetryAfter().getSeconds()), TimeUnit.SECONDS);
  }

  /** Makes one line of a foreign text, with escapes for characters that a terminal might not show as letters. */
  static String printable(String text) {
    return UNPRINTABLE.matcher(text)
        .replaceAll(found -> Matcher.quoteReplacement(String.format("\\u%04x", found.group().codePointAt(0))));
  }

  /** Passes on incoming messages; ignores those after the end of the stream. */
  private final class Responses implements StreamObserver<CrawlResponse> {
    private final int number;

    Responses(int number) {
      this.number = number;
    }

    @Override
    public void onNext(CrawlResponse message) {
      events.add(() -> {
        if (number == stream && ended == null) take(message);
      });
    }

    @Override
    public void onError(Throwable error) {
      end(Status.fromThrowable(error));
    }

    @Override
    public void onCompleted() {
      end(Status.UNAVAILABLE.withDescription("the server has ended the stream"));
    }

    private void end(Status status) {
      events.add(() -> {
        if (number == stream) ended = status;
      });
    }
  }
}
