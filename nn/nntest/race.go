//go:build race

package nntest

const underRace = true
