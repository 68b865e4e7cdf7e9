// Package layout says which part of every param lives on which server, as both sides of the wire need it: the dense
// blocks of a server in the order they travel, and the rows of an embedding cut by server. It is computed alike in
// every process from the params, the rule and the strategy, and its [Layout.Fingerprint] is how processes find out that
// they differ.
package layout
