#!/bin/bash
sh "$TEST_DIR/check.sh"
