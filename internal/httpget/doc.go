// Package httpget answers GET and HEAD requests for a process's own pages: its probes, its counters, its job page. Each
// connection has one request, of 8 KiB at most, and is closed after the answer. A caller has five seconds to send it.
// Beyond 64 connections the oldest is closed for a new one, so that silent callers do not block others. A program with
// the server of net/http is 0.95 MB larger.
//
//	l, err := net.Listen("tcp", "127.0.0.1:0")
//	err = httpget.Serve(l, func(r *httpget.Request) httpget.Answer { return httpget.Text(200, "ok") })
//
// [Get] sends a request to such a listener.
package httpget
