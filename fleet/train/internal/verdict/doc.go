// Package verdict evaluates a model's predictions beyond their loss: whether its probabilities are calibrated, which
// classes it confuses, how it does on groups of rows, and what it loses without a field.
//
//	comparison.go   the predictions and labels that a loss compares, and sums over rows
//	calibration.go  predicted and observed rates
//	constant.go     predictions that are the same for every row
//	report.go       the report as text
package verdict
