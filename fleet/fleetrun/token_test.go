package main

import "testing"

// TestOwnToken: a job has a token of its own where it is whole, on loopback and unprotected, and no two have the same.
//
// Promise: [G12] a job of fleetrun on loopback has its own secret token
func TestOwnToken(t *testing.T) {
	t.Parallel()
	here := []endpoint{{"127.0.0.1", "1"}, {"127.0.0.1", "2"}}
	distant := []endpoint{{"10.0.0.7", "1"}, {"127.0.0.1", "2"}}
	whole := []role{{server, 0}, {server, 1}, {worker, 0}}
	for _, c := range []struct {
		name    string
		job     job
		environ map[string]string
		own     bool
	}{
		{"whole", job{servers: here, workers: here[:1], here: whole}, nil, true},
		{"collective", job{workers: here, here: ranks(worker, 2)}, nil, true},
		{"one of several machines", job{servers: here, workers: here[:1], here: whole[1:]}, nil, false},
		{"not on loopback", job{servers: distant, workers: here[:1], here: whole}, nil, false},
		{"a token", job{servers: here, workers: here[:1], here: whole}, map[string]string{"FLEET_TOKEN": "x"}, false},
		{"certificates", job{servers: here, workers: here[:1], here: whole}, map[string]string{"FLEET_TLS_DIR": "x"}, false},
	} {
		environ := func(name string) string { return c.environ[name] }
		one, two := c.job.ownToken(environ), c.job.ownToken(environ)
		if c.own != (len(one) > 20) || !c.own && one != "" || c.own && one == two {
			t.Errorf("%s: %q, then %q", c.name, one, two)
		}
	}
}
