// Package verdict says how right a model's predictions are, beside their loss: whether what it calls a chance of a
// tenth comes true in a tenth of the rows, which classes it takes for which, how it does on parts of the rows, and what
// it loses without a field.
//
//	comparison.go   the predictions and labels that a loss compares, and what rows come to
//	calibration.go  what was predicted beside what was observed
//	report.go       all of it as text
package verdict
