package files

import (
	"strings"
	"testing"
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
