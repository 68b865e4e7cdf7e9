package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// entry is a line of a job's diary, in which all of its processes record what they have done.
type entry struct {
	At    time.Time
	Who   string // "server 1"
	Life  uint64 // of a worker's process, unique in all runs of the job
	What  what
	Sent  int64 // steps that this life has made
	Acked int64 // of these, the steps that every server has acknowledged
}

type what string

const (
	begins what = "begins" // a server has its tables, or a worker its first weights
	trains what = "trains" // a step was made
	saves  what = "saves"  // a checkpoint is requested
	saved  what = "saved"  // the checkpoint is complete
	stops  what = "stops"  // StopWorker, or RunServer, has succeeded
	back   what = "back"   // the role has ended with ErrWentBack: all roles go back
)

// diary appends entries of one process to a file.
type diary struct {
	file *os.File
	who  string
	life uint64
}

func openDiary(name, who string, life uint64) (*diary, error) {
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("chaos: diary: %w", err)
	}
	return &diary{file, who, life}, nil
}

// write appends an entry, in one write, so that kill -9 leaves it whole or absent.
func (d *diary) write(w what, sent, acked int64) error {
	line, err := json.Marshal(entry{time.Now(), d.who, d.life, w, sent, acked})
	if err != nil {
		return err
	}
	_, err = d.file.Write(append(line, '\n'))
	return err
}

// reader reads a diary while other processes write it.
type reader struct {
	name    string
	at      int64
	entries []entry
}

// read reads the entries added since the last call.
func (r *reader) read() error {
	file, err := os.Open(r.name)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Seek(r.at, 0); err != nil {
		return err
	}
	for lines := bufio.NewScanner(file); lines.Scan(); r.at += int64(len(lines.Bytes()) + 1) {
		var e entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return fmt.Errorf("chaos: diary: %q: %w", lines.Text(), err)
		}
		r.entries = append(r.entries, e)
	}
	return nil
}

// made counts the steps of all lives.
func (r *reader) made() (all int64) {
	of := map[uint64]int64{}
	for _, e := range r.entries {
		of[e.Life] = max(of[e.Life], e.Sent)
	}
	for _, n := range of {
		all += n
	}
	return all
}
