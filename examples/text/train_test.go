package main

import (
	"testing"

	"github.com/gofleet/gofleet/examples/internal/jobtest"
	"github.com/gofleet/gofleet/examples/text/comments"
	"github.com/gofleet/gofleet/internal/law"
)

// TestClasses trains alone and on 2 servers and 2 workers.
func TestClasses(t *testing.T) {
	law.Slow(t)
	for _, k := range jobtest.Kinds(t, 32) {
		t.Run(k.Name, func(t *testing.T) {
			res, said := jobtest.Run(t, k.Servers, k.Workers, program, append(k.Args, "-epochs=2", "-dim=16", "-lr=0.01", "-out=")...)
			if got := res.Last.Values["test accuracy"]; got < 0.65 {
				t.Errorf("test accuracy %.4f; worker 0 said\n%s", got, said)
			}
		})
	}
}

// TestComments: the text has some hundreds of paragraphs of each class, and the most frequent words have the lowest ids.
func TestComments(t *testing.T) {
	all, err := comments.All()
	if err != nil {
		t.Fatal(err)
	}
	var of [10]int
	for _, c := range all {
		of[c.Class]++
	}
	for class, n := range of {
		if n < 200 || n > 1100 {
			t.Errorf("%s has %d paragraphs", comments.Classes[class], n)
		}
	}
	if ids := comments.Vocabulary(all); ids["the"] != 2 || len(ids) != comments.Height-2 {
		t.Errorf("the has id %d of %d", ids["the"], len(ids))
	}
}

func TestBadFlags(t *testing.T) {
	for _, args := range [][]string{{"-dim=0"}, {"-mode=often"}} {
		if _, err := jobtest.Job(program, args...); err == nil {
			t.Errorf("%v was taken", args)
		}
	}
}
