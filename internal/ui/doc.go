// Package ui is a page on which a person sees how a job does while it runs. It knows what a [Source] says of the job's
// roles, and asks that only while somebody looks.
//
//	job.go       what a source says
//	warnings.go  lines of logs
//	told.go      what a process tells another of itself
//	findings.go  what is wrong with it, and what to do
//	marks.go     where it was saved
//	view.go      what a browser is sent
//	door.go      who may look
//	page.go      the page, and its numbers
//	open.go      where this process shows one
//
// The page is one file each of HTML, CSS and JavaScript, without a library; it asks for its numbers once a second while
// it is seen, and for nothing on another host. Whatever a job names is text in it, never markup.
package ui
