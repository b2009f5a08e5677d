// A fetch worker in Go: fetches the pages that Freshet hands out, and reports what it found.
//
// It obeys robots.txt and reports its Crawl-delay, asks conditionally, and reports permanent redirects instead of
// following them. It keeps results until the server has acknowledged them, over reconnects. On SIGTERM or Ctrl-C it
// requests no more pages, finishes those that it has, and ends once all results are acknowledged, after -stop-timeout
// at the latest.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	pb "example.org/freshet-worker/freshetv1"
)

func main() {
	server := flag.String("server", fallback(os.Getenv("FRESHET_SERVER"), "127.0.0.1:7071"), "addresses, by commas")
	name := flag.String("name", "go-worker", "the same at each start")
	capacity := flag.Int("capacity", 32, "pages at a time")
	agent := flag.String("agent", "freshet-example/1.0", "User-Agent, with a way to reach you")
	stopTimeout := flag.Duration("stop-timeout", 30*time.Second, "how long a stop may take")
	ca := flag.String("tls-ca", os.Getenv("FRESHET_TLS_CA"), "PEM: TLS, and who signs the server's certificate")
	flag.Parse()
	proof, err := credentialsOf(*ca)
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	// The streams outlive the signal, since open pages are finished and reported after it. A server that does not answer
	// delays nobody.
	streams, giveUp := context.WithCancel(context.Background())
	defer giveUp()
	context.AfterFunc(ctx, func() {
		// A second signal ends the program at once.
		cancel()
		time.AfterFunc(*stopTimeout, giveUp)
	})
	w := newWorker(*name, *capacity, newFetcher(*agent))
	addresses := strings.Split(*server, ",")
	for attempt, pause := 0, time.Duration(0); !w.done(ctx) && streams.Err() == nil; attempt++ {
		select {
		case <-time.After(pause):
		case <-streams.Done():
		}
		before := w.acknowledged
		err := serve(ctx, streams, w, strings.TrimSpace(addresses[attempt%len(addresses)]), proof)
		if err == errCreditRevoked {
			pause = 0
			continue
		}
		if err != nil {
			// Quoted: a site may have chosen the server's text.
			log.Printf("%q", err)
		}
		if w.acknowledged > before {
			pause = 0
		}
		// The pause doubles after each failure, with jitter so that workers do not return all at once.
		pause = min(20*time.Second, max(200*time.Millisecond, 2*pause))
		pause = pause/2 + rand.N(pause/2)
	}
	fmt.Printf("%s: %d results acknowledged, %d refused, %d not acknowledged\n", *name, w.acknowledged, w.refused, w.owed())
	if w.owed() > 0 {
		log.Fatal("the stop has taken too long")
	}
}

// serve connects to one address and works until the stream ends; nil means that all work is done.
func serve(ctx, streams context.Context, w *worker, address string, proof []grpc.DialOption) error {
	options := append(proof, grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 5 * time.Second}))
	connection, err := grpc.NewClient(address, options...)
	if err != nil {
		return err
	}
	defer connection.Close()
	streamContext, cancel := context.WithCancel(streams)
	defer cancel()
	stream, err := pb.NewSchedulerServiceClient(connection).Crawl(streamContext)
	if err != nil {
		return err
	}
	return w.converse(ctx, stream)
}

// bearer sends a token with each call; gRPC sends it only over TLS.
type bearer struct{ token string }

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + b.token}, nil
}

func (bearer) RequireTransportSecurity() bool { return true }

func credentialsOf(ca string) ([]grpc.DialOption, error) {
	if ca == "" {
		// No web proxy may read plain text.
		return []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy()}, nil
	}
	transport, err := credentials.NewClientTLSFromFile(ca, "")
	if err != nil {
		return nil, err
	}
	options := []grpc.DialOption{grpc.WithTransportCredentials(transport)}
	if file := os.Getenv("FRESHET_TOKEN_FILE"); file != "" {
		token, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		options = append(options, grpc.WithPerRPCCredentials(bearer{strings.TrimSpace(string(token))}))
	}
	return options, nil
}

func fallback(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
