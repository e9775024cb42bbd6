#pragma once
#include "../../../evo/apply.h"
