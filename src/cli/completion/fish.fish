# Completion of interpreter and i for fish: as ~/.config/fish/completions/interpreter.fish, or sourced.
function __interpreter_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in (command $words[1] completion words -- "=$current" $words[2..-1] 2>/dev/null)
        switch $line
            case ':files'
                __fish_complete_path "$current"
            case ':dirs'
                __fish_complete_directories "$current" ''
            case '*'
                echo $line
        end
    end
end
complete -c interpreter -f -a '(__interpreter_complete)'
complete -c i -f -a '(__interpreter_complete)'
