// Package ui is a page that shows how a job runs. It reads the state of the job's roles from a [Source], and only while
// a browser has the page open.
//
//	job.go       the state of a job, from a source
//	watch.go     the source: all processes are asked for their status
//	findings.go  problems, and what to do
//	marks.go     where checkpoints were saved
//	view.go      the numbers for a browser
//	door.go      access to the page
//	page.go      the page, and its numbers
//
// The page is one file each of HTML, CSS and JavaScript, without a library; it requests its numbers once a second while
// it is visible, and loads nothing from another host. Names in a job are shown as text, never as markup.
package ui
