package dataset

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// origins are the origins of a table's rows, for messages: 8 bytes a row.
type origins struct {
	at     []origin // of the first rows; later rows have none
	files  []string // by number, from 1
	shared bool     // other tables use files too
	last   int      // the last file that was looked up
	next   origin   // of the next row to be written
}

// origin is a file's number and a line. File 0 means a row of the source, from 1; 0 is unknown.
type origin uint64

const lineBits = 40

func originOf(file, line int) origin { return origin(file)<<lineBits | origin(line)&(1<<lineBits-1) }

func (o origin) file() int { return int(o >> lineBits) }
func (o origin) line() int { return int(o & (1<<lineBits - 1)) }

// At sets the file and line, from 1, of the rows that are added next, until it is called again. Messages about these
// rows name both.
func (t *Table) At(file string, line int) { t.next = originOf(t.fileNumber(file), line) }

// Place returns the file and line of row r, such as "clicks.csv:17"; "" if unknown.
func (t *Table) Place(r int) string {
	if r < 0 || r >= len(t.at) {
		return ""
	}
	switch o := t.at[r]; {
	case o == 0:
		return ""
	case o.file() == 0:
		return fmt.Sprintf("row %d of the data", o.line()-1)
	default:
		return fmt.Sprintf("%s:%d", t.files[o.file()-1], o.line())
	}
}

// from gives the table the list of files from which its rows will come.
func (t *Table) from(files []string) {
	if len(t.files) == 0 {
		t.files, t.shared = files, true
	}
}

// fileNumber returns the file's number in the table.
func (t *Table) fileNumber(file string) int {
	if t.last > 0 && t.files[t.last-1] == file {
		return t.last
	}
	i := slices.Index(t.files, file)
	if i < 0 {
		if t.shared {
			t.files, t.shared = slices.Clone(t.files), false
		}
		i = len(t.files)
		t.files = append(t.files, file)
	}
	t.last = i + 1
	return t.last
}

// add records the origin of a row after all rows with an origin.
func (o *origins) add(row int, from origin) {
	if from == 0 {
		return
	}
	for len(o.at) < row {
		o.at = append(o.at, 0)
	}
	o.at = append(o.at, from)
}

// originFrom returns the origin of a row of another table, with t's numbers of files.
func (t *Table) originFrom(src *Table, r int) origin {
	if r >= len(src.at) {
		return 0
	}
	t.from(src.files)
	from := src.at[r]
	if f := from.file(); f > 0 && !sameList(t.files, src.files) {
		from = originOf(t.fileNumber(src.files[f-1]), from.line())
	}
	return from
}

// adopt makes rows lo to below hi, which were appended from another table, rows of t with their origins.
func (t *Table) adopt(src *Table, lo, hi int) {
	for r := lo; r < hi; r++ {
		t.add(t.rows+r-lo, t.originFrom(src, r))
	}
	t.rows += hi - lo
}

// sameList reports whether two lists are the same slice.
func sameList(a, b []string) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// move replaces the origin of an earlier row by that of row r.
func (o *origins) move(to, r int) {
	switch {
	case r < len(o.at):
		o.at[to] = o.at[r]
	case to < len(o.at):
		o.at[to] = 0
	}
}

// drop removes the origins of rows from n on.
func (o *origins) drop(n int) { o.at = o.at[:min(n, len(o.at))] }

// appendOrigin writes the origin of row r: the number of its file and its line.
func (o *origins) appendOrigin(b []byte, r int) []byte {
	var from origin
	if r < len(o.at) {
		from = o.at[r]
	}
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(from.file())), uint64(from.line()))
}

// readOrigin reads the origin of the next row, which a worker has sent with these files, and returns the bytes after
// it.
func (t *Table) readOrigin(b []byte, worker int, files []string) (rest []byte, err error) {
	file, n := binary.Uvarint(b)
	line, m := binary.Uvarint(b[max(n, 0):])
	if n <= 0 || m <= 0 || file > uint64(len(files)) || line >= 1<<lineBits {
		return nil, errCutRows
	}
	if file == 0 {
		t.next = originOf(0, int(line))
	} else {
		t.At(ownedBy(worker, files[file-1]), int(line))
	}
	return b[n+m:], nil
}

// ownedBy is a file's name with the worker that has read it.
func ownedBy(worker int, file string) string {
	if strings.HasPrefix(file, "worker ") && strings.Contains(file, "'s ") { // from another worker, through this one
		return file
	}
	return fmt.Sprintf("worker %d's %s", worker, file)
}
