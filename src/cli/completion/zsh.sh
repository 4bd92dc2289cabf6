#compdef interpreter i
# Completion of interpreter and i for zsh: as _interpreter in a folder of $fpath, or sourced after compinit.
_interpreter() {
    local line value doc
    local -a found
    for line in "${(@f)$(command $words[1] completion words -- "=$words[CURRENT]" "${(@)words[2,CURRENT-1]}" 2>/dev/null)}"; do
        case $line in
            '') ;;
            :files) _files ;;
            :dirs) _files -/ ;;
            *)
                value=${line%%$'\t'*}
                doc=${line#*$'\t'}
                found+=("${value//:/\\:}:$doc")
                ;;
        esac
    done
    (( $#found )) && _describe -V interpreter found
}
if [[ $funcstack[1] == _interpreter ]]; then
    _interpreter "$@"
else
    compdef _interpreter interpreter i
fi
