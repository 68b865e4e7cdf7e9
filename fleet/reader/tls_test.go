package reader_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/reader"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/porttest"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestByTLS: a reader with the variables that MACHINES.md names, the authority's certificate and the readers' token, reads from a job that
// trains over TLS, with a codec of its own.
func TestByTLS(t *testing.T) {
	// Serial: it sets variables of the environment.
	ca, err := transport.NewCA(time.Hour)
	law.Check(t, err)
	dir, outside := filepath.Join(t.TempDir(), "tls"), t.TempDir()
	law.Check(t, ca.WriteDir(dir))
	pem, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
	if err == nil {
		err = os.WriteFile(filepath.Join(outside, "ca.pem"), pem, 0o600)
	}
	law.Check(t, err)
	cluster := trial.Cluster(2, 1)
	cluster.Endpoints = porttest.Free(t, 2)
	cluster.Options.Transport = &transport.FastHTTP{TLSDir: dir, Token: "secret", ReadToken: token}
	t.Setenv("FLEET_TLS_DIR", outside)
	t.Setenv("FLEET_READ_TOKEN", token)
	s := strategy.Async()
	s.Codec = "s2"
	cluster.Run(t, trial.Counters(3000, s, func(ctx context.Context, _ *fleet.Fleet, c *trial.Counter) error {
		if err := c.Train(ctx, 2); err != nil {
			return err
		}
		r, err := reader.Open(ctx, reader.Options{Servers: cluster.Endpoints})
		if err != nil {
			return err
		}
		defer r.Close()
		rows, moments, err := all(ctx, r, "rows", 2)
		if err != nil {
			return err
		}
		for _, id := range c.IDs {
			if w := rows[id]; len(w) != 2 || w[0] != 2 || w[1] != 2 {
				t.Fatalf("row %d is %v", id, w)
			}
		}
		if len(rows) != len(c.IDs) || moments[0].Update != 2 || len(moments) < 4 {
			t.Errorf("%d rows, in pages of %v", len(rows), moments)
		}
		return nil
	}))
}
