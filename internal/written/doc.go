// Package written says what a text of a file is, for those who wanted another: a date, a number with signs.
package written
