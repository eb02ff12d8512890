# SPDX-License-Identifier: Apache-2.0
"""`python -m sallyport`: the command line."""

from sallyport.cli import main

if __name__ == "__main__":
    main()
