package reader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gofleet/gofleet/internal/peer"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/transport"
	"github.com/gofleet/gofleet/transport/codec"
)

// Options are the options of Open. Servers must be set.
type Options struct {
	// Servers are the addresses of all servers of the job, in any order.
	Servers []string
	// Token is the servers' FLEET_READ_TOKEN; "" means that variable of this process.
	Token string
	// Transport reaches the servers. It must be [transport.Readable], such as [transport.FastHTTP]; its own token is
	// not used. nil means a FastHTTP with the security that the environment asks for (FLEET_TLS_DIR, of which only
	// ca.pem is needed, FLEET_INSECURE, FLEET_CLUSTER).
	Transport transport.Transport
	// Params are embeddings that the job must have, with these shapes.
	Params []Param
	// Wait is how long each call waits for a server that does not answer, has no weights yet, or is busy with other
	// readers. 0 means a minute.
	Wait time.Duration
}

// Param is an embedding that can be read. Height is 0 if every uint64 is an id.
type Param struct {
	Name        string
	Dim, Height int
}

// Moment identifies the state in which rows were read: a server, its number of updates, how often its rows were dropped
// or loaded (by Shrink, SaveBatch and LoadModel), and the generation of the job. Each start of a job from a checkpoint
// begins a new generation. A load may set Update back. Of two moments of a server in one generation, the one with the
// larger Remade is later, and of the same Remade the one with the larger Update.
type Moment struct {
	Server     int
	Generation uint64
	Remade     uint64
	Update     uint64
}

var (
	// ErrWentBack reports that the job was restarted since the reader was opened, and may have older rows: open another
	// reader and read the rows again. It is fleet.ErrWentBack.
	ErrWentBack = wire.ErrWentBack
	// ErrParam says that the job has no such embedding.
	ErrParam = errors.New("no such embedding")
)

// Reader reads from the servers of a job. Any number of goroutines may use it.
type Reader struct {
	t          transport.Transport
	wait       time.Duration
	servers    []server // by their numbers
	generation uint64
	params     []wire.ReadableParam
}

// server is a server from which rows are read.
type server struct {
	endpoint string
	life     *peer.Life
}

// Open connects to all servers and asks which embeddings they have.
func Open(ctx context.Context, o Options) (*Reader, error) {
	if len(o.Servers) == 0 {
		return nil, errors.New("reader: Options.Servers is empty; a job without servers saves models to read from")
	}
	t, err := o.transport()
	if err != nil {
		return nil, fmt.Errorf("reader: %w", err)
	}
	r := &Reader{t: t, wait: cmp.Or(o.Wait, time.Minute), servers: make([]server, len(o.Servers))}
	for i, endpoint := range o.Servers {
		r.servers[i] = server{endpoint, new(peer.Life)}
	}
	about := make([]wire.Readable, len(o.Servers))
	err = peer.All(len(o.Servers), func(i int) error {
		return r.ask(ctx, i, func(b *wire.Builder) error { return b.JSON(wire.Read{What: wire.ReadAbout}) },
			func(f *wire.Frame) error { return f.JSON(&about[i]) })
	})
	if err == nil {
		err = r.take(about, o.Params)
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// transport returns the transport for the reader's calls.
func (o *Options) transport() (transport.Transport, error) {
	t, token := o.Transport, o.Token
	if t == nil {
		fast, err := transport.FromEnv()
		if err != nil {
			return nil, err
		}
		t, token = fast, cmp.Or(token, fast.ReadToken)
	}
	readable, ok := t.(transport.Readable)
	switch {
	case !ok:
		return nil, fmt.Errorf("a %T can't read: want a transport.Readable", t)
	case token == "":
		return nil, errors.New("set FLEET_READ_TOKEN, here and on the servers, or Options.Token")
	}
	none, err := codec.ByName("none")
	return transport.Compressed(readable.Reader(token), none, 0), err
}

// take checks that the servers belong to one job, sorts them by number, and stores the params.
func (r *Reader) take(about []wire.Readable, wanted []Param) error {
	ordered := make([]server, len(about))
	for i, a := range about {
		name := fmt.Sprintf("reader: %s is server %d of %d", r.servers[i].endpoint, a.Server, a.Servers)
		switch {
		case a.Servers != len(about) || a.Server < 0 || a.Server >= len(about):
			return fmt.Errorf("%s, and Options.Servers has %d: name all servers of the job", name, len(about))
		case ordered[a.Server].life != nil:
			return fmt.Errorf("%s, as %s is", name, ordered[a.Server].endpoint)
		case a.Fingerprint != about[0].Fingerprint:
			return fmt.Errorf("%s, of another job than %s", name, r.servers[0].endpoint)
		case a.Generation != about[0].Generation:
			return fmt.Errorf("%s, and was started again meanwhile: %w", name, ErrWentBack)
		}
		ordered[a.Server] = r.servers[i]
	}
	r.servers, r.generation, r.params = ordered, about[0].Generation, about[0].Params
	for _, want := range wanted {
		if p, err := r.param(want.Name); err != nil {
			return err
		} else if is := paramOf(p); is != want {
			return fmt.Errorf("reader: embedding %q has dim %d and height %d, and %d and %d are wanted", want.Name,
				is.Dim, is.Height, want.Dim, want.Height)
		}
	}
	return nil
}

func paramOf(p *wire.ReadableParam) Param { return Param{Name: p.Name, Dim: p.Dim, Height: p.Height} }

// Params returns the embeddings that can be read.
func (r *Reader) Params() (all []Param) {
	for i := range r.params {
		all = append(all, paramOf(&r.params[i]))
	}
	return all
}

func (r *Reader) param(name string) (*wire.ReadableParam, error) {
	i := slices.IndexFunc(r.params, func(p wire.ReadableParam) bool { return p.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("reader: %w: %q, the job has %v", ErrParam, name, r.Params())
	}
	return &r.params[i], nil
}

// Close closes the reader's connections. Calls in progress go on.
func (r *Reader) Close() {
	if idle, ok := r.t.(transport.IdleCloser); ok {
		idle.CloseIdleConnections()
	}
}
