// Package environ finds variables of the environment that nobody reads because their name is mistyped.
package environ
