// Package httpget answers GET and HEAD requests where a process shows something of itself: its probes, its counts, its
// page. Each connection has one request, of 8 KiB at most, and is closed behind its answer; who asks has five seconds,
// and of many connections the first is cut off for the next, so that who says nothing keeps no other from asking. A
// program with the server of net/http is 0.95 MB larger.
//
//	l, err := net.Listen("tcp", "127.0.0.1:0")
//	err = httpget.Serve(l, func(r *httpget.Request) httpget.Answer { return httpget.Text(200, "ok") })
//
// [Get] asks such a listener.
package httpget
