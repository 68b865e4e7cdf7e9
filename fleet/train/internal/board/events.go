package board

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/gofleet/gofleet/internal/protowire"
)

// Fields of an Event.
const (
	eventTime    = 1
	eventStep    = 2
	eventVersion = 3
	eventGraph   = 4
	eventSummary = 5
	eventSession = 7
)

// Writer writes the events of a run. It is for one goroutine at a time.
type Writer struct {
	file *os.File
	last int64 // step
}

// NewWriter begins a file in a run's directory, after the files there. Readers then ignore the steps of those files
// from from on: the run goes on from there, or, with 0, begins anew.
func NewWriter(dir string, from int64) (*Writer, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	name, err := nextName(dir)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, err
	}
	w := &Writer{file: file, last: from}
	var start protowire.Message
	start.Int(1, 1) // SessionLog.START
	err = w.event(0, func(m *protowire.Message) { m.String(eventVersion, "brain.Event:2") })
	if err == nil {
		err = w.event(from, func(m *protowire.Message) { m.Message(eventSession, start) })
	}
	return w, err
}

var begun = regexp.MustCompile(`tfevents\.(\d{1,18})`)

// nextName is the name of the newest file. Readers take files in the order of names, each to its end, so that the time
// in the name must be later than any other's, whatever the clock says.
func nextName(dir string) (string, error) {
	there, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	second := time.Now().Unix()
	for _, f := range there {
		if m := begun.FindStringSubmatch(f.Name()); m != nil {
			before, _ := strconv.ParseInt(m[1], 10, 64) // at most 18 digits
			second = max(second, before+1)
		}
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return fmt.Sprintf("events.out.tfevents.%010d.%s.%d", second, filepath.Base(host), os.Getpid()), nil
}

// event writes an event of a step. A step before the last is replaced by the last, since steps must not decrease.
func (w *Writer) event(step int64, add func(m *protowire.Message)) error {
	var m protowire.Message
	m.Double(eventTime, float64(time.Now().UnixMicro())/1e6)
	m.Int(eventStep, step)
	add(&m)
	_, err := w.file.Write(frame(m))
	return err
}

// Close ends the file.
func (w *Writer) Close() error { return w.file.Close() }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// frame is a record: the length in 8 bytes, its checksum, the data, their checksum.
func frame(data []byte) []byte {
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, len(data)+16), uint64(len(data)))
	b = binary.LittleEndian.AppendUint32(b, masked(b))
	b = append(b, data...)
	return binary.LittleEndian.AppendUint32(b, masked(data))
}

// masked is a checksum that may itself be part of summed data.
func masked(data []byte) uint32 {
	sum := crc32.Checksum(data, castagnoli)
	return (sum>>15 | sum<<17) + 0xa282ead8
}

// finite reports whether a number is neither NaN nor infinite.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
