grep -qx Hello hello.txt && echo "PASSED check" || { echo "FAILED check"; exit 1; }
