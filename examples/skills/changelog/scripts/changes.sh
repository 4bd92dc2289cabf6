# The subjects of the commits since the last tag, or of all of them.
last=$(git describe --tags --abbrev=0 2>/dev/null)
git log --no-merges --format=%s ${last:+"$last..HEAD"}
