// SPDX-License-Identifier: Apache-2.0

package prefixes

// Levels are how many rows each level has in a chip of as many leaves, the root's level first.
func Levels(leaves int) []int {
	rows := rowsOf(leaves)
	return rows[:]
}

// Index is the index of a row of a level in the tables of nodes.
func Index(level, row int) int { return level<<indexOf | row }

// MostRoutes is how many prefixes a chip of as many leaves is meant for. More may find room, since
// prefixes share ends.
func MostRoutes(leaves int) int { return 4 * leaves }
