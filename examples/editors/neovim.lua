-- CodeCompanion: the agent as the adapter of the chat. `:CodeCompanionChat` opens it.
require("codecompanion").setup({
  adapters = {
    acp = {
      interpreter = function()
        -- Any adapter that needs no sign-in will do as a base.
        return require("codecompanion.adapters").extend("opencode", {
          name = "interpreter",
          formatted_name = "Interpreter",
          commands = { default = { "interpreter", "acp", "--oss" } },
        })
      end,
    },
  },
  interactions = { chat = { adapter = "interpreter" } },
})
