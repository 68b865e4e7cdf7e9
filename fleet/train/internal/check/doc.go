// Package check examines a training job before it trains. [Look] reads the rows once, trains for some steps on separate
// tables in memory, and reports likely mistakes: numbers that are not scaled, a feed that gives away the label, a param
// without a gradient, a rate with which the loss rises. It contacts no server and writes no file.
//
//	check.go     the job, the report, and the order of the checks
//	graph.go     what the graph shows: labels, tables and their feeds, feeds that reach a layer unscaled
//	rows.go      one pass over rows
//	feeds.go     the contents of each feed
//	values.go    numbers that lie apart
//	texts.go     the texts of the files, before anything is made of them
//	places.go    the contents of each value of a row
//	watch.go     a trainer between the graph and its tables, which measures every gradient
//	steps.go     some steps of training, and predictions before and after
//	spread.go    the spread of predictions
//	findings.go  problems and remedies
//	report.go    the report as text
package check
