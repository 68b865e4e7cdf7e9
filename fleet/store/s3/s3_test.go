package s3

import (
	"bytes"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/gofleet/gofleet/fleet/store"
	"github.com/gofleet/gofleet/fleet/store/storetest"
	"github.com/gofleet/gofleet/internal/law"
)

// TestMain takes away what the environment and the profiles of whose machine this is say of AWS.
func TestMain(m *testing.M) {
	backoff = 10 * time.Millisecond
	for _, set := range os.Environ() {
		if name, _, _ := strings.Cut(set, "="); strings.HasPrefix(name, "AWS_") {
			os.Unsetenv(name)
		}
	}
	for _, name := range []string{"AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"} {
		os.Setenv(name, os.DevNull)
	}
	os.Exit(m.Run())
}

// newStore is a store over a fake.
func newStore(t *testing.T) (*Store, *fake) {
	t.Helper()
	f := newFake()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	s, err := New(t.Context(), Options{Endpoint: server.URL, Region: "here", PieceBytes: leastPiece,
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", "")})
	law.Check(t, err)
	return s, f
}

func TestExam(t *testing.T) {
	law.Slow(t)
	storetest.Run(t, func(t *testing.T) (store.Store, string) {
		s, _ := newStore(t)
		return s, "bucket/some/dir"
	})
}

func section(b []byte) *io.SectionReader {
	return io.NewSectionReader(bytes.NewReader(b), 0, int64(len(b)))
}

// sized are contents that are put whole, and in pieces.
func sized() [][]byte {
	return [][]byte{[]byte("small"), bytes.Repeat([]byte("0123456789abcdef"), (2*leastPiece+leastPiece/2)/16)}
}

// isPut says whether a request makes an object.
func isPut(r *http.Request) bool {
	q := r.URL.Query()
	return r.Method == http.MethodPut && !q.Has("partNumber") || r.Method == http.MethodPost && q.Has("uploadId")
}

// TestALostAnswer: a put on condition that was done and not answered is made again, refused, and found to be its own; that of another is
// not.
func TestALostAnswer(t *testing.T) {
	law.Slow(t)
	for _, content := range sized() {
		s, f := newStore(t)
		var lost atomic.Int32
		f.befall = func(_ http.ResponseWriter, r *http.Request) (bool, bool) {
			return false, isPut(r) && lost.Add(1) == 1
		}
		first, err := s.Put(t.Context(), "b/f", section(content), store.Condition{Absent: true})
		if i, e := s.Stat(t.Context(), "b/f"); err != nil || e != nil || i.Version != first || lost.Load() < 2 {
			t.Errorf("%d bytes: version %q, error %v, after %d attempts; it is %+v, %v", len(content), first, err, lost.Load(), i, e)
		}
		lost.Store(0)
		if _, err := s.Put(t.Context(), "b/f", section(append(content, '2')), store.Condition{Version: first}); err != nil {
			t.Errorf("%d bytes in the place of others: %v", len(content), err)
		}
		lost.Store(0)
		if _, err := s.Put(t.Context(), "b/f", section(content), store.Condition{Version: first}); !errors.Is(err, store.ErrChanged) {
			t.Errorf("%d bytes in the place of what is there no more: %v", len(content), err)
		}
	}
}

// TestRequestsThatFail are made again: each request fails once, with a status that says so, or without an answer.
func TestRequestsThatFail(t *testing.T) {
	law.Slow(t)
	for _, content := range sized() {
		s, f := newStore(t)
		var requests, failed atomic.Int32
		f.befall = func(w http.ResponseWriter, r *http.Request) (bool, bool) {
			if requests.Add(1)%2 == 0 {
				return false, false
			}
			failed.Add(1)
			_, _ = io.Copy(io.Discard, r.Body)
			fail(w, r, http.StatusServiceUnavailable, "SlowDown")
			return true, false
		}
		if _, err := s.Put(t.Context(), "b/f", section(content), store.Condition{Absent: true}); err != nil {
			t.Errorf("%d bytes: %v", len(content), err)
		}
		r, err := s.Open(t.Context(), "b/f", store.Range{})
		law.Check(t, err)
		got, err := io.ReadAll(r)
		r.Close()
		if err != nil || !bytes.Equal(got, content) || failed.Load() < 2 {
			t.Errorf("%d bytes of %d, error %v, %d requests failed", len(got), len(content), err, failed.Load())
		}
	}
}

// TestPieces: a file is uploaded in pieces of the size that was asked for, or in fewer that are larger; what can't be finished is given up.
func TestPieces(t *testing.T) {
	const gb = 1 << 30
	for _, c := range []struct{ size, piece, want int64 }{
		{6 * gb, 8 << 20, 8 << 20}, {100 * gb, 8 << 20, 10737419}, {5000 * gb, 8 << 20, 536870912},
	} {
		if got := pieceOf(c.size, c.piece); got != c.want || (c.size+got-1)/got > mostPieces {
			t.Errorf("%d bytes go in pieces of %d, want %d", c.size, got, c.want)
		}
	}
	s, f := newStore(t)
	content := sized()[1]
	f.befall = func(w http.ResponseWriter, r *http.Request) (bool, bool) {
		if r.URL.Query().Get("partNumber") != "2" {
			return false, false
		}
		_, _ = io.Copy(io.Discard, r.Body)
		fail(w, r, http.StatusForbidden, "AccessDenied")
		return true, false
	}
	if _, err := s.Put(t.Context(), "b/f", section(content), store.Condition{}); err == nil || !strings.Contains(err.Error(), "AccessDenied") {
		t.Errorf("a piece was refused: %v", err)
	}
	if len(f.uploads) > 0 || len(f.objects) > 0 {
		t.Errorf("%d uploads and %d objects are left", len(f.uploads), len(f.objects))
	}
}

// TestSlowMultipartCompletionIsAwaited: a service that copies pieces before it answers has more time for that than for another answer.
func TestSlowMultipartCompletionIsAwaited(t *testing.T) {
	was := answerTime
	answerTime = 300 * time.Millisecond
	s, f := newStore(t)
	answerTime, s.piece, f.least = was, 1000, 1000
	begun := 0
	f.befall = func(_ http.ResponseWriter, r *http.Request) (bool, bool) {
		if r.Method != http.MethodPost || !r.URL.Query().Has("uploadId") {
			return false, false
		}
		begun++
		select {
		case <-time.After(time.Second):
			return false, false
		case <-r.Context().Done():
			return true, false
		}
	}
	if _, err := s.Put(t.Context(), "b/f", section(make([]byte, 2500)), store.Condition{Absent: true}); err != nil || begun != 1 {
		t.Errorf("error %v after %d requests", err, begun)
	}
}

// TestCertificates: every request trusts the certificates of AWS_CA_BUNDLE, those of pieces too.
func TestCertificates(t *testing.T) { // Serial: it sets a variable of the environment.
	f := newFake()
	f.least = 1000
	server := httptest.NewTLSServer(f)
	defer server.Close()
	name := filepath.Join(t.TempDir(), "ca.pem")
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	law.Check(t, os.WriteFile(name, ca, 0o666))
	t.Setenv("AWS_CA_BUNDLE", name)
	s, err := New(t.Context(), Options{Endpoint: server.URL, Region: "here", Credentials: credentials.NewStaticCredentialsProvider("id", "secret", "")})
	law.Check(t, err)
	s.piece = 1000
	for _, size := range []int{1, 2500} {
		if _, err := s.Put(t.Context(), "b/f", section(make([]byte, size)), store.Condition{}); err != nil {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// TestOptions refuses what a service would refuse later.
func TestOptions(t *testing.T) {
	for what, o := range map[string]Options{"PieceBytes": {PieceBytes: 1 << 20}, "AWS_REGION": {}} {
		if _, err := New(t.Context(), o); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%+v: error %v does not name %s", o, err, what)
		}
	}
	if _, err := New(t.Context(), Options{Endpoint: "http://minio:9000"}); err != nil {
		t.Errorf("an endpoint without a region: %v", err)
	}
}

// TestNoSuchBucket: a bucket that is not there is no empty directory, whatever is asked for first; one that is there is asked for once.
func TestNoSuchBucket(t *testing.T) {
	for what, do := range map[string]func(*Store, string) error{
		"stat":   func(s *Store, name string) error { _, err := s.Stat(t.Context(), name); return err },
		"open":   func(s *Store, name string) error { _, err := s.Open(t.Context(), name, store.Range{}); return err },
		"list":   func(s *Store, name string) error { _, err := s.List(t.Context(), name); return err },
		"remove": func(s *Store, name string) error { return s.Remove(t.Context(), name) },
		"put": func(s *Store, name string) error {
			_, err := s.Put(t.Context(), name, section([]byte("x")), store.Condition{})
			return err
		},
		"put in its place": func(s *Store, name string) error {
			_, err := s.Put(t.Context(), name, section([]byte("x")), store.Condition{Version: "1"})
			return err
		},
	} {
		s, _ := newStore(t)
		if err := do(s, "misspelled/job/f"); err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, store.ErrChanged) ||
			!strings.Contains(err.Error(), `bucket "misspelled" does not exist`) {
			t.Errorf("%s: %v", what, err)
		}
	}
	s, f := newStore(t)
	heads := 0
	f.befall = func(_ http.ResponseWriter, r *http.Request) (bool, bool) {
		if r.Method == http.MethodHead && strings.Count(r.URL.Path, "/") == 1 {
			heads++
		}
		return false, false
	}
	for range 3 {
		if _, err := s.Stat(t.Context(), "bucket/none"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("what is not in a bucket: %v", err)
		}
	}
	if heads != 1 {
		t.Errorf("the bucket was asked for %d times", heads)
	}
}
