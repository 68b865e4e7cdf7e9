// Package layout computes which part of every param lives on which server: the dense blocks of a server in the order of
// frames, and the rows of an embedding by server. Every process computes the same layout from the params, the rule and
// the strategy. Processes compare its [Layout.Fingerprint] to find out that their jobs differ.
package layout
