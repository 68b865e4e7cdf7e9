// Package tokens says what the tokens of a file's fields mean, and makes of them what datasets take.
//
//	date.go     dates, in many layouts
//	advice.go   what a text is that stands where a number should
//	number.go   a number in one form
//	hasher.go   ids of categories
//	time.go     times out of texts, and their parts
//	derived.go  fields derived from others: parts of times, buckets of numbers, crosses
//	maker.go    the derived fields that are asked for, of one row after the other
package tokens
