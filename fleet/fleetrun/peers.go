package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gofleet/gofleet/internal/peer"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/transport"
	"github.com/gofleet/gofleet/transport/codec"
)

// transport is the transport that roles would use.
func (d *doctor) transport() (*transport.FastHTTP, error) {
	t, err := transport.FromEnv()
	if err != nil {
		return nil, err
	}
	t.Logger = slog.New(slog.DiscardHandler) // its warnings are findings here
	t.DialTimeout = d.timeout
	return t, nil
}

// called is a process of the job that a role calls.
type called struct {
	name, endpoint string
	server         bool
}

// askPeers reports where the roles would listen, and which of the peers that they call resolve, connect and answer. All
// peers are asked at once.
func (d *doctor) askPeers(ctx context.Context, t *transport.FastHTTP) {
	own, peers := d.endpoints()
	if len(own)+len(peers) == 0 {
		return
	}
	d.section("peers")
	for _, o := range own {
		d.listen(ctx, t, o)
	}
	told := make([]answer, len(peers))
	var asking sync.WaitGroup
	for i, p := range peers {
		asking.Go(func() { told[i] = ask(ctx, t, p, d.timeout) })
	}
	asking.Wait()
	for i, p := range peers {
		d.say(p.name, "%s: %s", p.endpoint, told[i].text)
		if told[i].missing != "" {
			d.lacks("%s, %s: %s", p.name, p.endpoint, told[i].missing)
		}
		if told[i].note != "" {
			d.says("%s, %s: %s", p.name, p.endpoint, told[i].note)
		}
	}
}

// endpoints are the addresses at which roles here listen, and those that they call elsewhere.
func (d *doctor) endpoints() (own, peers []called) {
	for _, p := range d.patients {
		if !p.told || p.id.Local() {
			continue
		}
		list, kind := p.id.Servers, server
		if p.id.Collective {
			list, kind = p.id.WorkerEndpoints, worker
		}
		for i, e := range list {
			c := called{role{kind, i}.String(), e, !p.id.Collective}
			switch {
			case e == "": // ranks of MPI get them when they exchange addresses
			case e == p.id.Endpoint() && (p.id.IsServer() || p.id.Collective):
				own = append(own, c)
			case !slices.Contains(peers, c):
				peers = append(peers, c)
			}
		}
	}
	return own, slices.DeleteFunc(peers, func(c called) bool { return slices.Contains(own, c) })
}

// listen reports whether a role can listen at its endpoint.
func (d *doctor) listen(ctx context.Context, t *transport.FastHTTP, own called) {
	if t == nil {
		d.say(own.name+" here", "%s: not tried, since security isn't settled", own.endpoint)
		return
	}
	l, err := t.Listen(own.endpoint)
	if err == nil {
		err = l.Close(ctx)
	}
	if err == nil {
		at := ""
		if t.ListenAddr != "" {
			at = ", where FLEET_LISTEN says: " + t.ListenAddr
		}
		d.say(own.name+" here", "%s: free to listen at%s", own.endpoint, at)
		return
	}
	d.say(own.name+" here", "%s: can't be listened at", own.endpoint)
	if a := ask(ctx, t, own, d.timeout); errors.Is(err, syscall.EADDRINUSE) && a.gofleet {
		d.says("%s, %s: a gofleet process listens there already; if it isn't this role, which has been started, end it",
			own.name, own.endpoint)
		return
	}
	d.lacks("%s here: %v", own.name, err)
}

// answer is the result of asking a peer.
type answer struct {
	text, missing, note string
	gofleet             bool // a gofleet process answered
}

// ask resolves an endpoint and sends a request as a worker that has not joined: a server refuses that, and does not
// record it.
func ask(ctx context.Context, t *transport.FastHTTP, to called, timeout time.Duration) answer {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no answer within %v", timeout))
	defer cancel()
	resolved := ""
	if !strings.HasPrefix(to.endpoint, "unix:") {
		var err error
		if resolved, err = resolve(ctx, to.endpoint); err != nil {
			helps := "start what announces it, or name an address"
			if inPod() {
				helps = "start that pod; " + headless
			}
			return answer{text: "does not resolve", missing: fmt.Sprintf("its name does not resolve (%v): %s", err,
				helps)}
		}
	}
	a := answer{text: "not asked, since security isn't settled"}
	if t != nil {
		began := time.Now()
		words, err := hello(ctx, t, to)
		a = answered(words, time.Since(began), err, to, timeout)
	}
	a.text = resolved + a.text
	return a
}

// answered interprets an answer, or its absence. A peer that does not listen may not have been started yet.
func answered(words string, took time.Duration, err error, to called, timeout time.Duration) answer {
	reason := ""
	if err != nil { // its prefix repeats the endpoint
		reason = strings.TrimPrefix(err.Error(), "transport: call "+to.endpoint+": ")
		reason = strings.TrimPrefix(reason, "dial tcp "+to.endpoint+": ")
	}
	switch late := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded); {
	case err == nil:
		return answer{text: fmt.Sprintf("answers in %v: %s", took.Round(10*time.Microsecond), words), gofleet: true}
	case errors.Is(err, transport.ErrRefused):
		return answer{text: "refuses, or is refused", missing: reason}
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOENT):
		return answer{text: "nobody listens", note: "nobody listens there: start it, in any order; roles wait for " +
			"each other"}
	case late && errors.Is(err, transport.ErrUnreachable):
		return answer{text: "can't be reached", missing: fmt.Sprintf("no connection within %v: the machine is off, or "+
			"a firewall drops what it is sent: open the port between the machines, or correct the list", timeout)}
	case late:
		return answer{text: "connects, and says nothing", missing: fmt.Sprintf("no answer within %v: a process that "+
			"is stopped, or no gofleet process, listens there: end it, or correct the list", timeout)}
	}
	return answer{text: "does not answer", missing: reason + ": look at the list, and at the network between the " +
		"machines"}
}

// resolve returns what a name resolves to, "" for an address. It waits for the name of a pod that has just begun.
func resolve(ctx context.Context, endpoint string) (string, error) {
	host, _, err := net.SplitHostPort(endpoint)
	if err != nil {
		return "", err
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return "", nil
	}
	began := time.Now()
	found, err := net.DefaultResolver.LookupHost(ctx, host)
	for err != nil && inPod() {
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return "", err
		}
		var again error
		if found, again = net.DefaultResolver.LookupHost(ctx, host); again == nil || ctx.Err() == nil {
			err = again
		}
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("resolves to %s in %v; ", strings.Join(found, ", "),
		time.Since(began).Round(10*time.Microsecond)), nil
}

// hello makes one request, which has no effect on any gofleet process.
func hello(ctx context.Context, t *transport.FastHTTP, to called) (words string, err error) {
	plain, err := codec.ByName("none")
	if err != nil {
		return "", err
	}
	over := transport.Compressed(t, plain, 0)
	if !to.server {
		return "a gofleet process", over.Call(ctx, to.endpoint, nil, func([]byte) error { return nil })
	}
	var b wire.Builder
	b.Reset(wire.Header{Op: wire.OpHeartbeat, Version: wire.NoDense})
	answered, err := peer.Once(ctx, over, to.endpoint, nil, b.Parts(), nil)
	if !answered {
		return "", err
	}
	if err == nil {
		return "a gofleet server", nil
	}
	return fmt.Sprintf("a gofleet server (%v)", err), nil
}
