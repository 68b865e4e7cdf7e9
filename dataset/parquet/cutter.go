package parquet

import (
	"context"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
)

// part is some rows of a row group of a file. It keeps the file open.
type part struct {
	file   *file
	group  parquet.RowGroup
	first  int64 // first row of the part in the group
	end    int64 // and the row after the last
	before int   // rows of the file before the group
}

// cutter divides the files into parts, in order.
type cutter struct {
	*Files
	ctx    context.Context
	uses   []use
	opened int   // files so far
	file   *file // the file in progress, if any
	group  int   // the next group of the file
	before int   // rows before it
	cut    int64 // rows of the group so far
}

// next returns the next part, of about most rows if the group can be divided; io.EOF after the last.
func (c *cutter) next(most int64) (part, error) {
	for {
		if c.ctx.Err() != nil {
			return part{}, ended(c.ctx)
		}
		if c.file == nil || c.group == len(c.file.groups) {
			if err := c.nextFile(); err != nil {
				return part{}, err
			}
			continue
		}
		group := c.file.groups[c.group]
		rows := group.NumRows()
		if rows < 0 {
			return part{}, fmt.Errorf("dataset: %s: %w", c.file.path,
				broken(fmt.Sprintf("a row group of %d rows", rows)))
		}
		if c.cut < rows {
			return c.partOf(group, rows, most), nil
		}
		c.group++
		c.before += int(rows)
		c.cut = 0
	}
}

// partOf returns the next part of a group.
func (c *cutter) partOf(group parquet.RowGroup, rows, most int64) part {
	p := part{file: c.file, group: group, first: c.cut, end: rows, before: c.before}
	if rest := rows - c.cut; rest > most && c.canSeek(group) {
		p.end = p.first + rest/((rest+most-1)/most) // parts of equal size
	}
	c.file.hold()
	c.cut = p.end
	return p
}

// canSeek reports whether pages inside the group can be found. A broken index counts as none.
func (c *cutter) canSeek(group parquet.RowGroup) (can bool) {
	defer func() {
		if recover() != nil {
			can = false
		}
	}()
	chunks := group.ColumnChunks()
	for i := range c.file.uses {
		if _, err := chunks[c.file.uses[i].leaf].OffsetIndex(); err != nil {
			return false
		}
	}
	return true
}

// nextFile opens the next file.
func (c *cutter) nextFile() (err error) {
	c.close()
	if c.opened == len(c.Paths) {
		return io.EOF
	}
	c.opened++
	c.group, c.before, c.cut = 0, 0, 0
	c.file, err = c.openFile(c.Paths[c.opened-1], c.uses)
	return err
}

// close releases the file.
func (c *cutter) close() {
	if c.file != nil {
		c.file.release()
		c.file = nil
	}
}
