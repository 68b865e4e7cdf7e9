// Package check looks at a training job before it trains. [Look] reads the rows once, trains for some steps on tables
// of its own, in memory, and says what a person would want to know first: numbers that are fed as they are, a feed that
// says what the label is, a param that no gradient comes to, a rate with which the loss rises. It asks no server and
// writes no file.
//
//	check.go     what is looked at, and the order of looking
//	graph.go     what the graph says: labels, tables and who looks them up, feeds that reach a layer as they are
//	rows.go      one pass over rows
//	feeds.go     what they hold for each feed
//	places.go    and for each value of a row
//	watch.go     a trainer between the graph and its tables, which sees every gradient
//	steps.go     some steps of training, and predictions before and after
//	spread.go    how far predictions lie apart
//	findings.go  what is wrong, and what to do
//	report.go    all of it as text
package check
