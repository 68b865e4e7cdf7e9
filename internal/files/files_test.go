package files

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// TestOnlyLocalNames refuses URLs, also those that were joined with the name of a file, and nothing else.
func TestOnlyLocalNames(t *testing.T) {
	for _, name := range []string{"", "model", "/tmp/model", "./a:b", "a:b/c", `C:\model`, "C:/model", "C://model", "data/x:1/y", "/mnt/hdfs:/x"} {
		if err := CheckLocal(name); err != nil {
			t.Errorf("%q is refused: %v", name, err)
		}
	}
	for name, want := range map[string]string{
		"hdfs://nn:9000/user/me/ckpt": "mount it", "s3://bucket/model": `"s3://bucket/model"`, "hdfs:/nn:9000/user": "not a path on this machine",
		"S3A://b": "mount it", "git+ssh://x": "mount it",
		"file:///tmp/model": "as in /tmp/model", "File:/tmp/model": "as in /tmp/model",
	} {
		if err := CheckLocal(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v does not say %q", name, err, want)
		}
	}
}

// TestPiecesOfAnySize writes pieces that are buffered and pieces that are not: the file has all of them in their order, and so has its sum.
func TestPiecesOfAnySize(t *testing.T) {
	f, err := Create(filepath.Join(t.TempDir(), "file"))
	law.Check(t, err)
	var want []byte
	for i, n := range []int{1, large, 5, large - 1, 3 * large, 9 * large, 2, 0, large + 1, 7} {
		piece := bytes.Repeat([]byte{byte('a' + i)}, n)
		if written, err := f.Write(piece); written != n || err != nil {
			t.Fatalf("%d bytes of %d written, error %v", written, n, err)
		}
		want = append(want, piece...)
	}
	law.Check(t, f.Commit())
	got, err := os.ReadFile(f.name)
	if err != nil || !bytes.Equal(got, want) || f.Sum() != SumOf(want) || f.Size() != int64(len(want)) {
		t.Errorf("%d bytes (sum %s of %d), error %v; %d were written (%s)", len(got), f.Sum(), f.Size(), err, len(want), SumOf(want))
	}
}
