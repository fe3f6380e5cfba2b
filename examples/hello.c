/* Shows the markers: an event "greeting" with one stage. The stage lasts from its marker to the end
 * of the run; the time before it belongs to no stage. Settings:
 *   <event name="greeting" threshold="50ms">
 *     <library binary="/path/to/hello"><stage name="polite"/></library></event> */
#include <lagtrap.h>
#include <stdio.h>

int main(void) {
    char name[64];
    printf("Your name, please (nothing to stop): ");
    while (fgets(name, sizeof name, stdin) != NULL && name[0] != '\n') {
        LAGTRAP_BEGIN("greeting");
        printf("Hello, ");
        LAGTRAP_STAGE("greeting", "polite");
        printf("%sYour name, please (nothing to stop): ", name);
        fflush(stdout);
        LAGTRAP_END("greeting");
    }
    return 0;
}
