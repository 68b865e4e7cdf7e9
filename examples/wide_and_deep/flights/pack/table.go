package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
)

// record is a line of a csv file, its fields found by name.
type record struct {
	file   string
	line   int
	fields map[string]int
	values []string
}

// eachRecord calls f for each line after the first, which names the fields.
func eachRecord(path string, f func(record) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	plain, err := unpack(file)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	r := csv.NewReader(plain)
	r.ReuseRecord = true
	names, err := r.Read()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	fields := map[string]int{}
	for i, name := range names {
		fields[name] = i
	}
	for line := 2; ; line++ {
		values, err := r.Read()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = f(record{path, line, fields, values})
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
}

func unpack(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	if head, _ := b.Peek(2); !bytes.Equal(head, []byte{0x1f, 0x8b}) {
		return b, nil
	}
	return gzip.NewReader(b)
}

// text is a field; "" if it is NA.
func (r record) text(name string) (string, error) {
	i, ok := r.fields[name]
	if !ok {
		return "", fmt.Errorf("missing field %s", name)
	}
	if r.values[i] == "NA" {
		return "", nil
	}
	return string([]byte(r.values[i])), nil // a copy: the record's memory is used again
}

// whole is a number times scale, which must be whole then; missing if it is NA.
func (r record) whole(name string, scale float64, missing int) (int, error) {
	text, err := r.text(name)
	if err != nil || text == "" {
		return missing, err
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("line %d: field %s: %w", r.line, name, err)
	}
	n := math.Round(x * scale)
	if math.Abs(n-x*scale) > 0.01 {
		return 0, fmt.Errorf("line %d: field %s: %s is not a multiple of %g", r.line, name, text, 1/scale)
	}
	return int(n), nil
}

// reading collects the first error of several fields.
type reading struct {
	record
	err error
}

func (r *reading) text(name string) string {
	s, err := r.record.text(name)
	r.keep(err)
	return s
}

func (r *reading) whole(name string, scale float64, missing int) int {
	n, err := r.record.whole(name, scale, missing)
	r.keep(err)
	return n
}

func (r *reading) int(name string) int { return r.whole(name, 1, 0) }

func (r *reading) keep(err error) {
	if r.err == nil {
		r.err = err
	}
}
