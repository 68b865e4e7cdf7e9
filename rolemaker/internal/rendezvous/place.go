package rendezvous

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// place is where the ranks of a job meet: rank 0 listens there, the others look up its address.
type place interface {
	// open listens. stop removes what was published for the others.
	open(ctx context.Context) (l net.Listener, stop func(), err error)
	// address is where rank 0 listens, as far as it is known.
	address() (string, error)
	fmt.Stringer
}

// meetingPlace is the place in FLEET_RENDEZVOUS, or for one machine a file that only its user can write.
func (p Process) meetingPlace() (place, error) {
	switch {
	case p.Where == "" && !p.OneMachine:
		return nil, ErrNowhere
	case p.Where == "":
		return p.privatePlace(), nil
	case strings.HasPrefix(p.Where, "file:"):
		return p.sharedPlace()
	case checkAddress(p.Where) != nil:
		return nil, fmt.Errorf("%s is %q; it must be host:port of rank 0 or file:///dir", Variable, p.Where)
	}
	return fixedPlace(p.Where), nil
}

// fixedPlace is a configured host and port.
type fixedPlace string

func (p fixedPlace) String() string           { return string(p) }
func (p fixedPlace) address() (string, error) { return string(p), nil }

// open listens on all addresses unless the host is loopback: a host's own name often resolves there to another address
// than elsewhere.
func (p fixedPlace) open(ctx context.Context) (net.Listener, func(), error) {
	host, port, err := net.SplitHostPort(string(p))
	if err != nil {
		return nil, nil, err
	}
	if !isLoopback(host) {
		host = ""
	}
	l, err := listen(ctx, net.JoinHostPort(host, port))
	return l, func() {}, err
}

func listen(ctx context.Context, at string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", at)
	if err != nil {
		return nil, fmt.Errorf("rank 0 can't listen for the others: %w", err)
	}
	return l, nil
}

// filePlace is a file to which rank 0 writes its address. A file of an earlier job does no harm: a process that answers
// at its address does not know this job, and the file is read again.
type filePlace struct {
	dir, name string
	// host is rank 0's host, for the others to call; loopback means one machine.
	host string
	// private makes the directory, for this user only.
	private bool
}

// privatePlace is a directory of this user for jobs on this machine. A job without an id is identified by the process
// that started its ranks.
func (p Process) privatePlace() filePlace {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("gofleet-%d", os.Getuid()))
	name := fileName(cmp.Or(p.Job, fmt.Sprintf("parent %d", os.Getppid())))
	return filePlace{dir: dir, name: name, host: "127.0.0.1", private: true}
}

// sharedPlace is the directory in FLEET_RENDEZVOUS. Rank 0 is called at the host that the program has set, if it has.
func (p Process) sharedPlace() (place, error) {
	u, err := url.Parse(p.Where)
	if err != nil || u.Host != "" || !filepath.IsAbs(filepath.FromSlash(u.Path)) {
		return nil, fmt.Errorf("%s is %q; a directory is file:///dir", Variable, p.Where)
	}
	return filePlace{dir: filepath.FromSlash(u.Path), name: fileName(p.Job),
		host: cmp.Or(p.Host, ownHost(p.OneMachine))}, nil
}

// fileName is a name that every file system accepts.
func fileName(job string) string {
	h := fnv.New64a()
	h.Write([]byte(job))
	return fmt.Sprintf("rendezvous-%016x", h.Sum64())
}

func (p filePlace) String() string { return filepath.Join(p.dir, p.name) }

func (p filePlace) open(ctx context.Context) (net.Listener, func(), error) {
	if err := p.makeDir(); err != nil {
		return nil, nil, err
	}
	host := ""
	if isLoopback(p.host) {
		host = p.host
	}
	l, err := listen(ctx, net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, nil, err
	}
	if err := p.publish(endpoint(p.host, l.Addr().(*net.TCPAddr).Port)); err != nil {
		l.Close()
		return nil, nil, err
	}
	return l, func() { os.Remove(p.String()) }, nil
}

// makeDir makes the private directory, and refuses one in which others can write.
func (p filePlace) makeDir() error {
	if !p.private {
		return nil
	}
	if err := os.Mkdir(p.dir, 0o700); err != nil && !os.IsExist(err) {
		return fmt.Errorf("rank 0 needs a directory for the rendezvous: %w; set %s instead", err, Variable)
	}
	return checkPrivate(p.dir)
}

func checkPrivate(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("directory of the rendezvous: %w", err)
	}
	if !info.IsDir() || !onlyOurs(info) {
		return permanent{fmt.Errorf("%s, for the rendezvous, is not a directory of this user's alone (%v); remove it "+
			"or set %s", dir, info.Mode(), Variable)}
	}
	return nil
}

// publish writes the address atomically.
func (p filePlace) publish(address string) error {
	f, err := os.CreateTemp(p.dir, p.name+".*")
	if err != nil {
		return fmt.Errorf("rank 0 can't write for the rendezvous: %w", err)
	}
	_, err = f.WriteString(address)
	if err = cmp.Or(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), p.String())
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("rank 0 can't write for the rendezvous: %w", err)
	}
	return nil
}

func (p filePlace) address() (string, error) {
	if p.private {
		if err := checkPrivate(p.dir); err != nil {
			return "", err
		}
	}
	f, err := os.Open(p.String())
	if err != nil && p.private {
		return "", fmt.Errorf("rank 0 has not opened the rendezvous (if the launcher starts each rank in a shell of "+
			"its own, set %s): %w", Variable, err)
	}
	if err != nil {
		return "", fmt.Errorf("rank 0 has not opened the rendezvous: %w", err)
	}
	defer f.Close()
	return readAddress(f)
}

// readAddress reads the contents of the file.
func readAddress(f fs.File) (string, error) {
	b := make([]byte, 1024)
	n, err := f.Read(b)
	if err != nil {
		return "", err
	}
	return string(b[:n]), checkAddress(string(b[:n]))
}
