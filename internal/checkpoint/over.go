package checkpoint

import (
	"io"

	"github.com/gofleet/gofleet/internal/files"
)

// overName is the file beside a series' checkpoints that has the id of the one behind which the job ended, all its work
// done. A job that goes on from there has newer ones soon.
const overName = "job.over"

// End notes that the job is over with its newest checkpoint. Every server may.
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

// Ended says whether the job was over with the newest checkpoint of the series, and which that is.
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

// Over says whether a job that saves into a directory was over with a checkpoint there.
func Over(dir string, m Manifest) bool {
	id, err := files.ReadFile(files.Join(dir, overName))
	return err == nil && string(id) == m.ID+"\n"
}
