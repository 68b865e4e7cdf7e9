package files

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// scheme matches the beginning of a URL. A single letter is a Windows drive.
var scheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+:/`)

// CheckLocal returns an error for a URL where the name of a file or directory of this machine is wanted: the file would
// be written to a local directory such as "hdfs:" and be lost. The error does not name the caller.
func CheckLocal(name string) error {
	at := scheme.FindString(name)
	switch {
	case at == "":
		return nil
	case strings.EqualFold(at, "file:/"):
		return fmt.Errorf("%q is a URL: give the path alone, as in %s", name, "/"+strings.TrimLeft(name[len(at):], "/"))
	}
	return fmt.Errorf("%q is not a path on this machine: only local and mounted file systems are read and written: "+
		"mount it (NFS, FUSE), or copy from and to a local directory", name)
}

// CheckWritable makes a directory, if there is none, and returns an error if no file can be written into it.
func CheckWritable(dir string) error {
	if IsURL(dir) {
		name := Join(dir, ".writable-"+rand.Text()[:10])
		var err error
		for range 3 { // an answer may be lost: then the file is there at the next try
			if _, err = Publish(context.Background(), OS{}, name, "", []byte("x")); errors.Is(err, ErrChanged) {
				err = nil
			}
			if err == nil {
				break
			}
		}
		if Remove(name) != nil {
			_ = Remove(name)
		}
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".writable-")
	if err != nil {
		return err
	}
	_, err = f.WriteString("x") // an empty file can be made on a full disk
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}
