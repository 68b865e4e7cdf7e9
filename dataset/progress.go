package dataset

import (
	"fmt"
	"log/slog"
	"os"
	"time"
)

// A load is logged after loadQuiet, then every loadEvery, and when it is done.
const (
	loadQuiet = 2 * time.Second
	loadEvery = 5 * time.Second
)

// loadLog is the log of one load.
type loadLog struct {
	began, next time.Time
	told        bool
	off         bool
}

func newLoadLog() *loadLog {
	now := time.Now()
	return &loadLog{began: now, next: now.Add(loadQuiet), off: os.Getenv("FLEET_PROGRESS") == "off"}
}

// filer is a Reader that reports which of its files it reads.
type filer interface{ fileNow() (file, files int) }

func (r *filesReader) fileNow() (file, files int) { return r.head.number, len(r.Paths) }

func (r *crewReader) fileNow() (file, files int) {
	if r.now == nil {
		return 0, len(r.Paths)
	}
	return r.now.head.number, len(r.Paths)
}

// going logs the number of rows, when it is time to.
func (l *loadLog) going(r Reader, rows int) {
	now := time.Now()
	if l.off || now.Before(l.next) {
		return
	}
	l.next, l.told = now.Add(loadEvery), true
	attrs := l.attrs(rows)
	if f, ok := r.(filer); ok {
		if file, files := f.fileNow(); file > 0 {
			attrs = append(attrs, "file", fmt.Sprintf("%d of %d", file, files))
		}
	}
	slog.Info("dataset: loading", attrs...)
}

// done logs the end of a load, if the load was logged before.
func (l *loadLog) done(rows int) {
	if l.told {
		slog.Info("dataset: loaded", l.attrs(rows)...)
	}
}

func (l *loadLog) attrs(rows int) []any {
	took := time.Since(l.began)
	return []any{"rows", rows, "elapsed", took.Round(100 * time.Millisecond), "rows/s",
		int(float64(rows) / took.Seconds())}
}
