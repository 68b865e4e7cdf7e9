package checkpoint

import (
	"io"

	"github.com/gofleet/gofleet/internal/files"
)

// overName is the file beside a series' checkpoints with the id of the checkpoint at which the job ended with all its
// work done. A job that resumes from there soon has newer checkpoints.
const overName = "job.over"

// End records that the job has ended with its newest checkpoint. Every server may call it.
func (s *Series) End() error {
	if s.Dir == "" {
		return nil
	}
	_, m, err := Latest(s.Dir)
	if err != nil {
		return err
	}
	return files.Write(files.Join(s.Dir, overName), func(w io.Writer) error {
		_, err := io.WriteString(w, m.ID+"\n")
		return err
	})
}

// Ended reports whether the job has ended with the newest checkpoint of the series, and returns that checkpoint.
func (s *Series) Ended() (newest string, over bool) {
	if s.Dir == "" {
		return "", false
	}
	newest, m, err := Latest(s.Dir)
	if err != nil {
		return "", false
	}
	return newest, Over(s.Dir, m)
}

// Over reports whether the job that saves into a directory has ended with the checkpoint m there.
func Over(dir string, m Manifest) bool {
	id, err := files.ReadFile(files.Join(dir, overName))
	return err == nil && string(id) == m.ID+"\n"
}
