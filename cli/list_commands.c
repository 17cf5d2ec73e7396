/* The commands and their settings as one document: the reference pages are made from it. */
#include <string.h>

#include "cli.h"

static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

/* "a|b|c" as an array. */
static json_t *words_of(const char *choices)
{
    json_t *words = json_array();
    while (choices && *choices) {
        size_t length = strcspn(choices, "|");
        json_array_append_new(words, json_stringn(choices, length));
        choices += length + (choices[length] == '|');
    }
    return words;
}

static json_t *setting_of(const fplt_setting *row, const char *group,
                          const fplt_settings *with_data)
{
    static const char *const kinds[] = {[FPLT_REAL] = "number",
                                        [FPLT_INTEGER] = "integer",
                                        [FPLT_SWITCH] = "switch",
                                        [FPLT_CHOICE] = "choice",
                                        [FPLT_TEXT] = "text"};
    char help[512];
    fplt_setting_help(row, help, sizeof help);
    return json_pack("{s:s, s:s, s:s, s:b, s:b, s:b, s:o, s:o, s:o, s:o, s:s}", "name", row->name,
                     "group", group, "kind", kinds[row->kind], "list",
                     (row->flags & FPLT_LIST) != 0, "pairs", (row->flags & FPLT_PAIRS) != 0,
                     "required", (row->flags & FPLT_REQUIRED) != 0, "choices",
                     words_of(row->kind == FPLT_CHOICE ? row->choices : NULL), "default",
                     text_or_null(row->standard), "default_with_data",
                     text_or_null(cli_default_with_data(row, with_data)), "needs",
                     text_or_null(row->needs), "help", help);
}

/* In the order of the help. */
static json_t *settings_of(const cli_command *command)
{
    const cli_call nobody = {.command = command};
    const char *group, *own;
    const fplt_setting *row;
    json_t *list = json_array();
    fplt_settings *settings = cli_settings_of(&nobody);
    fplt_settings *with_data = settings ? cli_settings_with_data(&nobody, settings) : NULL;
    for (size_t g = 0; settings && (group = cli_group(settings, g)); g++)
        for (size_t i = 0; (row = fplt_settings_row(settings, i, &own)); i++)
            if (strcmp(own, group) == 0)
                json_array_append_new(list, setting_of(row, group, with_data));
    fplt_settings_destroy(with_data);
    fplt_settings_destroy(settings);
    return list;
}

json_t *cli_json_commands(void)
{
    const cli_command *c;
    json_t *list = json_array();
    for (size_t i = 0; (c = cli_command_at(i)); i++)
        json_array_append_new(
            list,
            json_pack("{s:s, s:s, s:s, s:s, s:s, s:b, s:o}", "name", c->name, "what", c->summary,
                      "arguments", c->arguments, "about", c->about, "examples", c->examples,
                      "takes_file", c->config || c->config_by_name, "settings", settings_of(c)));
    return list;
}
