package transport_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/transport"
	"github.com/gofleet/gofleet/transport/codec"
	"github.com/valyala/fasthttp"
)

// The figure to compare with is a fasthttp client and server with nothing of ours around them, moving the same bytes.

func BenchmarkEcho(b *testing.B) {
	for _, size := range []int{64, 4 << 10, 64 << 10} {
		b.Run(fmt.Sprintf("bare/%d", size), func(b *testing.B) { benchBare(b, size, size) })
		b.Run(fmt.Sprintf("ours/%d", size), func(b *testing.B) { benchOurs(b, "127.0.0.1:0", size, size) })
	}
	b.Run("unix/64", func(b *testing.B) { benchOurs(b, "unix:"+b.TempDir()+"/s", 64, 64) })
}

func BenchmarkPush(b *testing.B) {
	b.Run("bare/4MB", func(b *testing.B) { benchBare(b, 4<<20, 64) })
	b.Run("ours/4MB", func(b *testing.B) { benchOurs(b, "127.0.0.1:0", 4<<20, 64) })
	b.Run("unix/4MB", func(b *testing.B) { benchOurs(b, "unix:"+b.TempDir()+"/s", 4<<20, 64) })
}

func BenchmarkPull(b *testing.B) {
	b.Run("bare/4MB", func(b *testing.B) { benchBare(b, 64, 4<<20) })
	b.Run("ours/4MB", func(b *testing.B) { benchOurs(b, "127.0.0.1:0", 64, 4<<20) })
}

// BenchmarkAgainstBare takes turns, a few calls each, so that both meet the same load of the machine, and compares medians:
// ours/bare is the time of ours in times of the bare one's.
func BenchmarkAgainstBare(b *testing.B) {
	for _, c := range []struct {
		name     string
		up, down int
	}{{"echo/64", 64, 64}, {"push/64KB", 64 << 10, 64}, {"push/4MB", 4 << 20, 64}, {"pull/4MB", 64, 4 << 20}} {
		b.Run(c.name, func(b *testing.B) {
			bare := bareCaller(b, c.up, c.down)
			tr, req := &transport.FastHTTP{}, [][]byte{make([]byte, c.up)}
			endpoint := answering(b, tr, c.down)
			ours := func() error { return tr.Call(b.Context(), endpoint, req, func([]byte) error { return nil }) }
			var times [2][]time.Duration
			for b.Loop() {
				for i, call := range []func() error{bare, ours} {
					for range 8 {
						start := time.Now()
						law.Check(b, call())
						times[i] = append(times[i], time.Since(start))
					}
				}
			}
			tr.CloseIdleConnections()
			var medians [2]float64
			for i := range times {
				slices.Sort(times[i])
				medians[i] = float64(times[i][len(times[i])/2].Nanoseconds()) / 1000
			}
			b.ReportMetric(medians[0], "bare-us")
			b.ReportMetric(medians[1], "ours-us")
			b.ReportMetric(medians[1]/medians[0], "ours/bare")
		})
	}
}

func BenchmarkMemory(b *testing.B) {
	for _, size := range []int{64, 4 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) { bench(b, transport.NewMemory(), "server:0", size, size) })
	}
}

func BenchmarkTLS(b *testing.B) {
	tr := &transport.FastHTTP{TLSDir: certificates(b)}
	b.Run("64", func(b *testing.B) { bench(b, tr, "127.0.0.1:0", 64, 64) })
	b.Run("push/4MB", func(b *testing.B) { bench(b, tr, "127.0.0.1:0", 4<<20, 64) })
}

// BenchmarkCompressed moves messages of zeros, so that each codec does its full work; "none" is the price of the envelope.
func BenchmarkCompressed(b *testing.B) {
	for _, name := range codec.Names() {
		for _, size := range []int{64, 4 << 20} {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				bench(b, transport.Compressed(&transport.FastHTTP{}, byName(b, name), 0), "127.0.0.1:0", size, 64)
			})
		}
	}
}

// BenchmarkChecksum is the price of a checksum, on the loopback, where nobody needs one.
func BenchmarkChecksum(b *testing.B) {
	for _, sum := range []bool{false, true} {
		for _, size := range []int{64, 4 << 20} {
			b.Run(fmt.Sprintf("%v/%d", sum, size), func(b *testing.B) {
				bench(b, transport.Compressed(&transport.FastHTTP{Checksum: sum}, byName(b, "none"), 0), "127.0.0.1:0", size, 64)
			})
		}
	}
}

// BenchmarkWorkers has 8 workers call one server at once, each its next call when it has the answer, and reports the times
// that half and 99 % of the calls keep to.
func BenchmarkWorkers(b *testing.B) {
	for _, c := range []struct {
		name     string
		up, down int
	}{{"small", 64, 64}, {"push/64KB", 64 << 10, 64}, {"pull/64KB", 64, 64 << 10}} {
		b.Run("bare/"+c.name, func(b *testing.B) {
			percentiles(b, bareCaller(b, c.up, c.down))
		})
		b.Run("ours/"+c.name, func(b *testing.B) {
			tr, req := &transport.FastHTTP{}, [][]byte{make([]byte, c.up)}
			endpoint := answering(b, tr, c.down)
			percentiles(b, func() error { return tr.Call(b.Context(), endpoint, req, func([]byte) error { return nil }) })
			tr.CloseIdleConnections()
		})
	}
}

func percentiles(b *testing.B, call func() error) {
	const workers = 8
	times := make([][]time.Duration, workers)
	b.ResetTimer()
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for range (b.N + workers - 1) / workers {
				start := time.Now()
				if err := call(); err != nil {
					b.Error(err)
				}
				times[w] = append(times[w], time.Since(start))
			}
		})
	}
	all.Wait()
	b.StopTimer()
	sorted := slices.Concat(times...)
	slices.Sort(sorted)
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
	b.ReportMetric(us(sorted[len(sorted)/2]), "p50-us")
	b.ReportMetric(us(sorted[len(sorted)*99/100]), "p99-us")
}

// BenchmarkLarge pushes 64 MB whole, and cut into several calls at once on connections of their own.
func BenchmarkLarge(b *testing.B) {
	const size = 64 << 20
	for _, pieces := range []int{1, 2, 4, 8} {
		b.Run(fmt.Sprintf("%dx%dMB", pieces, size>>20/pieces), func(b *testing.B) {
			tr, req := &transport.FastHTTP{}, [][]byte{make([]byte, size/pieces)}
			endpoint := answering(b, tr, 64)
			b.SetBytes(size)
			for b.Loop() {
				var all sync.WaitGroup
				for range pieces {
					all.Go(func() {
						if err := tr.Call(b.Context(), endpoint, req, func([]byte) error { return nil }); err != nil {
							b.Error(err)
						}
					})
				}
				all.Wait()
			}
			tr.CloseIdleConnections()
		})
	}
}

// answering serves answers of one size until the benchmark ends.
func answering(b *testing.B, t transport.Transport, down int) (endpoint string) {
	b.Helper()
	l, err := t.Listen("127.0.0.1:0")
	law.Check(b, err)
	answer := [][]byte{make([]byte, down)}
	served := make(chan error, 1)
	go func() {
		served <- l.Serve(func(_ []byte, reply *transport.Reply) { reply.Parts = answer })
	}()
	b.Cleanup(func() {
		if err := errors.Join(l.Close(context.Background()), <-served); err != nil {
			b.Error(err)
		}
	})
	return l.Endpoint()
}

func benchOurs(b *testing.B, endpoint string, up, down int) {
	bench(b, &transport.FastHTTP{}, endpoint, up, down)
}

func bench(b *testing.B, t transport.Transport, endpoint string, up, down int) {
	l, err := t.Listen(endpoint)
	law.Check(b, err)
	answer := [][]byte{make([]byte, down)}
	done := make(chan error)
	go func() {
		done <- l.Serve(func(_ []byte, reply *transport.Reply) { reply.Parts = answer })
	}()
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	req := [][]byte{make([]byte, 16), make([]byte, up-16)}
	check := func(body []byte) error {
		if len(body) != down {
			return fmt.Errorf("%d bytes", len(body))
		}
		return nil
	}
	b.SetBytes(int64(max(up, down)))
	b.ReportAllocs()
	for b.Loop() {
		law.Check(b, t.Call(ctx, l.Endpoint(), req, check))
	}
	law.Check(b, l.Close(ctx))
	<-done
}

func benchBare(b *testing.B, up, down int) {
	call := bareCaller(b, up, down)
	b.SetBytes(int64(max(up, down)))
	b.ReportAllocs()
	for b.Loop() {
		law.Check(b, call())
	}
}

// bareCaller starts a fasthttp server with nothing around it, and gives a call to it.
func bareCaller(b *testing.B, up, down int) (call func() error) {
	b.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	law.Check(b, err)
	answer := make([]byte, down)
	server := fasthttp.Server{
		Handler:               func(ctx *fasthttp.RequestCtx) { ctx.Response.SetBodyRaw(answer) },
		MaxRequestBodySize:    1 << 30,
		NoDefaultServerHeader: true, NoDefaultDate: true, NoDefaultContentType: true,
		ReadBufferSize: 64 << 10, WriteBufferSize: 64 << 10,
	}
	done := make(chan error)
	go func() { done <- server.Serve(ln) }()
	client := &fasthttp.HostClient{Addr: ln.Addr().String(), MaxResponseBodySize: 1 << 30,
		ReadBufferSize: 64 << 10, WriteBufferSize: 64 << 10}
	b.Cleanup(func() {
		client.CloseIdleConnections()
		_ = ln.Close()
		<-done
	})
	body := make([]byte, up)
	return func() error {
		req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		defer fasthttp.ReleaseRequest(req)
		defer fasthttp.ReleaseResponse(resp)
		req.Header.SetMethod(fasthttp.MethodPost)
		req.SetRequestURI("http://x/")
		req.SetBodyRaw(body)
		if err := client.Do(req, resp); err != nil {
			return err
		}
		if len(resp.Body()) != down {
			return fmt.Errorf("%d bytes", len(resp.Body()))
		}
		return nil
	}
}
