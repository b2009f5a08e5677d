package main

import (
	"context"
	"errors"
	"io"
	"log"
	"time"

	pb "example.org/freshet-worker/freshetv1"
)

// resultsPerBatch is at most 1,000; each batch gets one acknowledgement.
const resultsPerBatch = 500

// A stopping worker with credit expects no page after this time without one.
const quiet = 250 * time.Millisecond

// errCreditRevoked ends a stream on purpose: credit cannot be taken back, but the next stream begins without any.
var errCreditRevoked = errors.New("the stream is given up for one without credit")

// worker is the state that outlives a stream. Only the goroutine that calls converse uses its fields; fetches pass
// their results through the channel.
type worker struct {
	name         string
	capacity     int
	fetch        *fetcher
	results      chan *pb.CrawlResult
	open         int // pages being fetched
	credit       int // pages that the server may still send on this stream
	sequence     uint64
	unsent       []*pb.CrawlResult
	sent         []batch // in the order of their acknowledgements
	acknowledged int
	refused      int
}

type batch struct {
	sequence uint64
	results  []*pb.CrawlResult
}

func newWorker(name string, capacity int, fetch *fetcher) *worker {
	return &worker{name: name, capacity: capacity, fetch: fetch, results: make(chan *pb.CrawlResult, capacity)}
}

// done reports whether the worker was told to stop and everything is acknowledged.
func (w *worker) done(ctx context.Context) bool {
	return ctx.Err() != nil && w.owed() == 0
}

// owed returns how many pages have no acknowledged result, including those being fetched.
func (w *worker) owed() int {
	owed := w.open + len(w.unsent)
	for _, b := range w.sent {
		owed += len(b.results)
	}
	return owed
}

// converse works on one stream until it ends, and returns the reason; nil means that all work is done.
func (w *worker) converse(ctx context.Context, stream pb.SchedulerService_CrawlClient) error {
	if err := w.begin(stream); err != nil {
		return err
	}
	incoming, failed := receive(stream)
	stop := ctx.Done()
	var silent <-chan time.Time // set once the worker stops
	for {
		if err := w.send(ctx, stream); err != nil {
			return err
		}
		if w.credit == 0 && w.done(ctx) {
			return nil
		}
		select {
		case <-silent:
			// Pages on their way when a stream ends are lost until their leases end; by now there are hardly any.
			if w.done(ctx) {
				return nil
			}
			if w.credit > 0 {
				return errCreditRevoked
			}
		case message := <-incoming:
			w.take(ctx, message)
			if stop == nil {
				silent = time.After(quiet)
			}
		case result := <-w.results:
			w.open--
			w.unsent = append(w.unsent, result)
		case err := <-failed:
			return err
		case <-stop:
			stop, silent = nil, time.After(quiet)
		}
	}
}

// begin says hello, and sends unacknowledged results first.
func (w *worker) begin(stream pb.SchedulerService_CrawlClient) error {
	var again []*pb.CrawlResult
	for _, b := range w.sent {
		again = append(again, b.results...)
	}
	w.unsent, w.sent, w.credit = append(again, w.unsent...), nil, 0
	hello := &pb.WorkerHello{Worker: w.name}
	return stream.Send(&pb.CrawlRequest{Message: &pb.CrawlRequest_Hello{Hello: hello}})
}

// send reports waiting results, and grants credit for free room.
func (w *worker) send(ctx context.Context, stream pb.SchedulerService_CrawlClient) error {
	for len(w.unsent) > 0 {
		count := min(len(w.unsent), resultsPerBatch)
		w.sequence++
		b := batch{w.sequence, w.unsent[:count:count]}
		w.unsent = w.unsent[count:]
		w.sent = append(w.sent, b)
		results := &pb.ResultBatch{Sequence: b.sequence, Results: b.results}
		if err := stream.Send(&pb.CrawlRequest{Message: &pb.CrawlRequest_Results{Results: results}}); err != nil {
			return err
		}
	}
	room := w.capacity - w.open - w.credit
	if ctx.Err() != nil || room <= 0 {
		return nil
	}
	w.credit += room
	credit := &pb.Credit{Assignments: uint32(room)}
	return stream.Send(&pb.CrawlRequest{Message: &pb.CrawlRequest_Credit{Credit: credit}})
}

func (w *worker) take(ctx context.Context, message *pb.CrawlResponse) {
	switch m := message.Message.(type) {
	case *pb.CrawlResponse_Assignments:
		for _, assignment := range m.Assignments.Assignments {
			w.credit--
			w.open++
			// Fetches that have begun are finished, even after the signal.
			go func() { w.results <- w.fetch.result(context.WithoutCancel(ctx), assignment) }()
		}
	case *pb.CrawlResponse_ResultAck:
		w.settle(m.ResultAck)
	case *pb.CrawlResponse_Notice:
		log.Printf("%s: %q", w.name, m.Notice.Text)
	}
}

// settle forgets a batch, except items that the server asks to send again later.
func (w *worker) settle(ack *pb.BatchAck) {
	if len(w.sent) == 0 || w.sent[0].sequence != ack.Sequence {
		return
	}
	results := w.sent[0].results
	w.sent = w.sent[1:]
	if ack.Error != nil {
		w.refuse(results, ack.Error)
		return
	}
	w.acknowledged += len(results)
	for _, status := range ack.Statuses {
		if status.Outcome == pb.ItemOutcome_ITEM_OUTCOME_REFUSED {
			w.acknowledged--
			w.refuse(results[status.Index:status.Index+1], status.Error)
		}
	}
}

func (w *worker) refuse(results []*pb.CrawlResult, reason *pb.ItemError) {
	if !reason.Retryable {
		w.refused += len(results)
		log.Printf("%d results refused: %q: %q", len(results), reason.Field, reason.Reason)
		return
	}
	// They occupy room until they return, so that the channel never blocks.
	w.open += len(results)
	time.AfterFunc(max(time.Second, reason.RetryAfter.AsDuration()), func() {
		for _, result := range results {
			w.results <- result
		}
	})
}

func receive(stream pb.SchedulerService_CrawlClient) (<-chan *pb.CrawlResponse, <-chan error) {
	incoming, failed := make(chan *pb.CrawlResponse), make(chan error, 1)
	go func() {
		for {
			message, err := stream.Recv()
			if err == io.EOF {
				err = errors.New("the server has ended the stream")
			}
			if err != nil {
				failed <- err
				return
			}
			select {
			case incoming <- message:
			case <-stream.Context().Done():
				return
			}
		}
	}()
	return incoming, failed
}
