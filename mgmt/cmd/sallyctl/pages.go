// SPDX-License-Identifier: Apache-2.0

//go:build pages

package main

import "sallyport/mgmt/internal/pages"

func main() { pages.Main(newRoot(), "1") }
