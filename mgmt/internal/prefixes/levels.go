// SPDX-License-Identifier: Apache-2.0

package prefixes

import "sallyport/mgmt/internal/regs"

// Levels are how many rows each level has in a chip of as many leaves, the root's level first.
func Levels(leaves int) []int {
	rows := rowsOf(leaves)
	return rows[:]
}

// Index is the index of a row of a level in the tables of nodes.
func Index(level, row int) int { return level<<indexOf | row }

// black are the outer chip's tables by the names of the inner chip's. This package uses the latter.
var black = map[string]regs.Table{
	regs.InnerTablePrefix.Name: regs.OuterTableBlackPrefix, regs.InnerTablePrefixChild.Name: regs.OuterTableBlackPrefixChild,
	regs.InnerTablePrefixRoot.Name: regs.OuterTableBlackPrefixRoot, regs.InnerTableHopGroup.Name: regs.OuterTableBlackHopGroup,
}

// OnBlack is the outer chip's table that is as the given one of the inner chip.
func OnBlack(table regs.Table) regs.Table { return black[table.Name] }

// MostRoutes is how many prefixes a chip of as many leaves is meant for. More may find room, since
// prefixes share ends.
func MostRoutes(leaves int) int { return 4 * leaves }
